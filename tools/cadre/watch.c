/*
 * watch - shows an agent's turns as they run, and sends the operator's words to the agent.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ops.gen.h"
#include "tools/cadre/cli.h"
#include "tools/cadre/status.h"

enum { LOOK_MS = 100 };

struct watching {
	struct cli *cli;
	const char *agent;
	bool once; /* ends after one turn */
	json_int_t turn, offset; /* the shown turn, or 0; end of its shown part */
	bool none; /* there is nothing to watch */
	char state[16]; /* state of the turn, as last shown */
};

static void watch_rest(void)
{
	const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000L };

	nanosleep(&pause, NULL);
}

static const char *watch_state_of(const json_t *answer)
{
	return json_find_text(json_object_get(answer, "turn"), "state");
}

/* Prints the new part of the turn's text, or with --json the answer on one line. */
static void watch_show(struct watching *w, json_t *answer)
{
	const json_t *turn = json_object_get(answer, "turn");
	json_int_t number = json_int_at(turn, "turn");
	const char *text = json_find_text(answer, "text");

	if (w->cli->json &&
	    (*text || number != w->turn || strcmp(watch_state_of(answer), w->state))) {
		json_dumpf(answer, stdout, JSON_COMPACT);
		putchar('\n');
	} else if (!w->cli->json) {
		if (number != w->turn)
			fprintf(stderr, "turn %lld of %s\n", (long long)number, w->agent);
		cli_text(w->cli, text);
	}
	fflush(stdout);
	w->turn = number;
	snprintf(w->state, sizeof(w->state), "%s", watch_state_of(answer));
	w->offset = json_int_at(answer, "next");
}

static json_t *read_turn(struct watching *w, json_int_t turn, json_int_t offset,
			 struct fault *f)
{
	return run_args(w->cli, op_turn_read,
			json_pack("{sI, ss, sI, ss*}", "turn", turn, "agent", w->agent,
				  "offset", offset, "team", w->cli->team),
			f);
}

/* Shows the next part of the turn. Returns the turn's last state. NULL: the turn still runs, or
 * the fault is filled. */
static const char *watch_go_on(struct watching *w, char ended[16], struct fault *f)
{
	json_t *answer = read_turn(w, w->turn, w->offset, f);
	bool over;

	if (!answer)
		return NULL;
	watch_show(w, answer);
	over = strcmp(watch_state_of(answer), "streaming") != 0 &&
	       !json_is_true(json_object_get(answer, "more"));
	snprintf(ended, 16, "%s", over ? watch_state_of(answer) : "");
	json_decref(answer);
	return over ? ended : NULL;
}

/* The agent has taken no turn yet. Tells the person so. Returns 0 if the watch goes on. If the
 * agent has no runner, returns -1 with the fault filled. */
static int watch_tell_none(struct watching *w, struct fault *f)
{
	json_t *answer = run_args(
		w->cli, op_agent_whois,
		json_pack("{ss, ss*}", "name", w->agent, "team", w->cli->team), f);
	const bool runs = answer && *json_text_at(answer, "runner");

	json_decref(answer);
	if (f->code)
		return -1;
	if (runs) {
		cli_tell("%s has taken no turn yet", w->agent);
		return 0;
	}
	fault_set(f, FAULT_CONFLICT, "",
		  "%s has no runner and has taken no turn, so there is nothing to watch",
		  w->agent);
	fault_hint(
		f,
		"See its work: cadre history %s. Give it a runner: cadre agent update %s "
		"--runner claude.",
		w->agent, w->agent);
	w->none = true;
	return -1;
}

/* Waits for a turn that was not shown yet. Returns 0, or -1 with the fault filled. */
static int next_turn(struct watching *w, struct fault *f)
{
	json_int_t was = w->turn;
	bool told = false;

	while (w->turn == was && !ferror(stdout)) {
		json_t *answer = read_turn(w, 0, 0, f);
		json_int_t number;

		if (!answer && f->code == FAULT_CONFLICT) { /* there was no turn yet */
			*f = (struct fault){ 0 };
			if (!told && watch_tell_none(w, f))
				return -1;
			told = true;
			watch_rest();
			continue;
		}
		if (!answer)
			return -1;
		number = json_int_at(json_object_get(answer, "turn"), "turn");
		if (number != was)
			watch_show(w, answer);
		json_decref(answer);
		if (w->turn == was)
			watch_rest();
	}
	return 0;
}

int watch_main(struct cli *cli, int argc, char **argv)
{
	struct watching w = { .cli = cli };
	char ended[16] = "";
	struct fault f = { 0 };

	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--once") == 0)
			w.once = true;
		else if (*argv[i] == '-' || w.agent)
			return cli_usage(cli, "`agent %s` takes an agent and --once",
					 argv[0]);
		else
			w.agent = argv[i];
	if (!w.agent)
		return cli_usage(cli, "name an agent: `agent %s NAME`", argv[0]);
	signal(SIGPIPE, SIG_DFL);
	if (next_turn(&w, &f))
		return w.none ? (cli_fault(cli, &f), STATUS_OTHERWISE)
			      : cli_fault(cli, &f);
	while (!f.code && !ferror(stdout)) {
		if (!watch_go_on(&w, ended, &f)) {
			watch_rest();
			continue;
		}
		if (!cli->json)
			fprintf(stderr, "turn %lld: %s\n", (long long)w.turn, ended);
		if (w.once)
			return strcmp(ended, "done") != 0;
		if (next_turn(&w, &f))
			break;
	}
	return f.code ? cli_fault(cli, &f) : 0;
}

int say_main(struct cli *cli, int argc, char **argv)
{
	struct arena a = { 0 };
	const char *text = "";
	struct fault f = { 0 };
	json_t *answer;

	if (argc < 3)
		return cli_usage(cli, "name an agent and a text: `agent %s NAME TEXT`",
				 argv[0]);
	for (int i = 2; i < argc; i++)
		text = arena_printf(&a, "%s%s%s", text, i > 2 ? " " : "", argv[i]);
	answer = run_args(cli, op_message_send,
			  json_pack("{s[s], ss, ss, ss*}", "to", argv[1], "text", text,
				    "priority", "urgent", "team", cli->team),
			  &f);
	arena_release(&a);
	if (!answer)
		return cli_fault(cli, &f);
	printf(cli->json ? "{\"seq\":%lld}\n" : "said #%lld\n",
	       json_int_at(answer, "seq"));
	json_decref(answer);
	return 0;
}
