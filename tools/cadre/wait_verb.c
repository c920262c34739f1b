/*
 * wait_verb - commands that wait for a condition: `cadre wait`, and --wait of commands whose
 * work continues after the answer.
 *
 * A read waits in the host, or in this process if no host runs (core/overview/wait.c). This
 * command repeats the read until the condition holds. One read waits for at most five minutes.
 * While a line of progress is drawn, one read waits for at most five seconds. The limit is also
 * five seconds while a host has to do the work, because the host may end. If the work needs a
 * host and no host runs, the command waits ten seconds for a host. An early end of the wait
 * undoes nothing.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "core/base/clock.h"
#include "tools/cadre/cli.h"
#include "tools/cadre/screen/progress.h"
#include "tools/cadre/screen/screen.h"
#include "tools/cadre/status.h"

enum {
	HOUR = 3600,
	LONGEST = 31536000,
	SHOWN = 5,
	GRACE_MS = 1000,
	AWAY_MS = 10000, /* longest wait for a host that has to do the work */
	PAUSE_MS = 250, /* time between two searches for the host */
};

/* --- words ---------------------------------------------------------------------- */

/* The seconds of `--wait` or `--wait=SECONDS`. -1: the word is neither option. */
static int64_t wait_verb_seconds_of(const char *word, struct fault *f)
{
	char *end;
	long long n = HOUR;

	if (strncmp(word, "--wait", 6) != 0 || (word[6] && word[6] != '='))
		return -1;
	if (!word[6])
		return n;
	errno = 0;
	n = strtoll(word + 7, &end, 10);
	if (!word[7] || *end || errno || n < 0 || n > LONGEST)
		fault_set(f, FAULT_INVALID, "/wait", "must be seconds, not '%.40s'",
			  word + 7);
	return n;
}

void wait_take(struct cli *cli, const struct op *op, int *argc, char **argv,
	       struct fault *f)
{
	int left = 0;
	bool over = false;

	if (!op->until && !op->reached)
		return;
	for (int i = 0; i < *argc; i++) {
		int64_t seconds = over ? -1 : wait_verb_seconds_of(argv[i], f);

		over = over || !strcmp(argv[i], "--");
		if (seconds < 0)
			argv[left++] = argv[i];
		else
			cli->waits = true, cli->wait_s = seconds;
	}
	*argc = left;
	argv[left] = NULL;
}

/* --- one call ----------------------------------------------------------------------- */

/* The signals that end the wait. */
static const int ending[] = { SIGINT, SIGTERM, 0 };

int wait_end(struct cli *cli, int status)
{
	if (!cli->ended_by)
		return status;
	fflush(stdout);
	signals_die(cli, cli->ended_by);
	return status;
}

/* The maximum time, in ms, to wait for input of the client. If the host hangs, the wait ends
 * GRACE_MS after the time is up. */
static int patience(struct cli *cli, int64_t until)
{
	int64_t left = until + GRACE_MS - clock_steady_ms();
	int due = client_timeout(cli->client);

	left = left < 0 ? 0 : left;
	return due >= 0 && due < left ? due : (int)(left < INT_MAX ? left : INT_MAX);
}

/* Calls the operation that reads. Returns NULL with a fault if the call failed. Returns NULL
 * without a fault if a signal ended the wait. */
static json_t *wait_verb_ask(struct cli *cli, const struct op *op, json_t *args,
			     int64_t until, const sigset_t *waiting, struct fault *f)
{
	struct awaited a = { .fault = f };
	struct epoll_event event;
	int64_t number;
	int rc = 0;

	if (cli_client(cli, HOME_LOOK, f) < 0)
		return NULL;
	client_form(cli->client, (struct form){ 0 });
	number = client_start(cli->client, op, args, awaited_take, &a);
	while (!a.done && !cli->ended_by && !f->code &&
	       clock_steady_ms() < until + GRACE_MS) {
		rc = epoll_pwait(client_fd(cli->client), &event, 1, patience(cli, until),
				 waiting);
		if (rc < 0 && errno != EINTR)
			fault_set(f, FAULT_IO, "", "epoll: %m");
		client_step(cli->client);
		cli->ended_by = signals_next();
	}
	if (!a.done && !cli->ended_by && !f->code) {
		fault_set(f, FAULT_TIMEOUT, "", "the host has not answered in that time");
		fault_hint(f, "The host may be stopped. See: cadre doctor.");
	}
	if (!a.done)
		client_cancel(cli->client, number);
	return a.answer;
}

/* --- until the condition holds --------------------------------------------------------- */

static bool is_true(const json_t *answer, const struct field *flag)
{
	return json_is_true(json_object_get(answer, flag->name));
}

/* Whether the work needs a host, and no host runs. */
static bool wait_verb_is_hostless(const struct op *op, const json_t *answer)
{
	return op->hostless && is_true(answer, op->hostless);
}

static bool is_answered(const struct op *op, const json_t *answer)
{
	return is_true(answer, op->reached) || is_true(answer, op->over);
}

/* Replaces names in the arguments of further reads and in the hint by names and ids from the
 * answer. The team may have been renamed after the call. An id stays the same
 * even if the name is later given to another thing. The time from which changes are news stays
 * the same, too. */
static void keep_names(const struct op *op, json_t *args, const json_t *answer)
{
	for (size_t i = 0; i < op->in->n_fields; i++) {
		const char *name = op->in->fields[i].name;
		json_t *said = json_object_get(answer, name);

		if (said)
			json_object_set(args, name, said);
	}
}

/* Appends the values of an argument as one word of a command line, or as one word for each value
 * if `apart`. A word is quoted for a shell, because `#001` without quotes would begin a
 * comment. */
static void wait_verb_add_value(struct text *out, const json_t *value, bool apart)
{
	struct arena a = { 0 };
	struct text word = { 0 };
	const json_t *item;
	size_t i;

	if (apart && json_is_array(value)) {
		json_array_foreach(value, i, item)
			wait_verb_add_value(out, item, false);
		return;
	}
	if (json_is_array(value))
		json_array_foreach(value, i, item)
			text_addf(&word, "%s%s", i ? "," : "", json_string_value(item));
	else
		text_addf(&word, "%s", json_string_value(value));
	text_addf(out, " %s", shell_word(&a, word.data ? word.data : ""));
	text_release(&word);
	arena_release(&a);
}

/* Writes the command that waits for the same condition. If the call named a team, the command
 * contains the present name of the team. */
static void tell_command(const struct cli *cli, const struct op *op, const json_t *args,
			 struct text *out)
{
	const char *now = json_find_text(args, "team"),
		   *said = cli->team && now ? now : cli->team;

	text_addf(out, "cadre%s%s", said ? " --team " : "", said ? said : "");
	for (const char *const *word = op->cli; *word; word++)
		text_addf(out, " %s", *word);
	for (const char *const *bare = op->cli_fields; bare && *bare; bare++) {
		const json_t *value = json_object_get(args, *bare);

		if (!value)
			break;
		wait_verb_add_value(out, value, op->cli_rest && !bare[1]);
	}
}

/* Fills the fault of a wait that ended before the condition was met. The reason is that the
 * time was up, or that no host runs. */
static void wait_verb_tell_end(const struct cli *cli, const struct op *op,
			       const json_t *args, const json_t *answer,
			       enum fault_code code, const char *why, struct fault *f)
{
	struct text command = { 0 };
	char *said = screen_line(cli, op, answer);

	tell_command(cli, op, args, &command);
	fault_set(f, code, "", "%s %.200s", why, said);
	fault_hint(f, "The work goes on%s. Wait again with: %.140s",
		   wait_verb_is_hostless(op, answer) ? " when a host runs: cadre up" : "",
		   command.data);
	free(said);
	text_release(&command);
}

static void tell_signal(const struct cli *cli, const struct op *op, const json_t *args)
{
	struct text command = { 0 };

	tell_command(cli, op, args, &command);
	text_mask(&command, 0);
	fprintf(stderr,
		"cadre: only the wait ends, the work goes on; wait "
		"again with: %s\n",
		command.data);
	text_release(&command);
}

/* Tells a person at a terminal what the command waits for, and for how long. */
static void wait_verb_tell_begin(const struct cli *cli, const struct op *op,
				 const json_t *args, int64_t seconds)
{
	const bool minutes = seconds >= 120 && seconds % 60 == 0;
	char *what = screen_sentence(cli, op->in, op->waits_for, args);

	cli_tell("waiting for %s, for at most %lld %s", what,
		 (long long)(minutes ? seconds / 60 : seconds), minutes ? "min" : "s");
	free(what);
}

static void wait_verb_show(const struct cli *cli, const struct op *op,
			   const json_t *answer, struct progress *p)
{
	char *said = p ? screen_line(cli, op, answer) : NULL;

	if (said)
		progress_say(p, "%s", said);
	free(said);
}

/* Waits a moment for a host. Returns false if a signal ended the wait, or if no host has run
 * for AWAY_MS. */
static bool wait_verb_wait_for_host(struct cli *cli, struct progress **p, int64_t *since,
				    const sigset_t *waiting)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000 };

	if (!*since) {
		*since = clock_steady_ms();
		progress_end(*p);
		cli_tell("cadre: no host runs; waiting for one (to start a host: cadre "
			 "up)");
		*p = progress_begin(cli, "waiting for a host");
	}
	ppoll(NULL, 0, &pause, waiting);
	cli->ended_by = signals_next();
	return !cli->ended_by && clock_steady_ms() - *since < AWAY_MS;
}

/* The maximum number of seconds for which the first read waits. */
static int64_t first_wait(const struct op *op, const struct progress *p)
{
	return p ? 0 : op->hostless ? SHOWN : op->wait->type->max;
}

/* Repeats the read until the condition holds or can no longer hold, the time is up, or a signal
 * is caught. Returns the last answer. */
static json_t *ask_on(struct cli *cli, const struct op *op, json_t *args, int64_t until,
		      const sigset_t *before, struct fault *f)
{
	struct progress *p = progress_begin(cli, "");
	bool told = !p;
	int64_t most = first_wait(op, p), left, since = 0;
	json_t *answer = NULL, *next;

	for (;;) {
		left = until - clock_steady_ms();
		left = left > 0 ? (left + 999) / 1000 : 0;
		json_object_set_new(args, op->wait->name,
				    json_integer(left < most ? left : most));
		next = wait_verb_ask(cli, op, args, until, before, f);
		if (next) {
			json_decref(answer), answer = next;
			keep_names(op, args, answer);
		}
		if (!next || is_answered(op, answer) || clock_steady_ms() >= until)
			break;
		if (wait_verb_is_hostless(op, answer)) {
			if (wait_verb_wait_for_host(cli, &p, &since, before))
				continue;
			if (!cli->ended_by)
				wait_verb_tell_end(cli, op, args, answer,
						   FAULT_UNAVAILABLE, "no host runs;", f);
			break;
		}
		since = 0;
		if (!told)
			wait_verb_tell_begin(cli, op, args,
					     (until - clock_steady_ms() + 999) / 1000);
		told = true;
		wait_verb_show(cli, op, answer, p);
		if (p) /* the first reads are short: most changes happen early */
			most = most < SHOWN / 2 ? 2 * most + 1 : SHOWN;
	}
	progress_end(p);
	return answer;
}

json_t *wait_for(struct cli *cli, const struct op *op, json_t *args, struct fault *f)
{
	const json_t *said = json_object_get(args, op->wait->name);
	int64_t seconds = cli->waits ? cli->wait_s : HOUR;
	char why[40];
	sigset_t before;
	json_t *answer;

	if (said && !json_is_integer(said))
		return run_op(cli, op, args, f); /* the operation refuses the value */
	if (said)
		seconds = json_integer_value(said);
	seconds = seconds > LONGEST ? LONGEST : seconds < 0 ? 0 : seconds;
	snprintf(why, sizeof(why), "after %lld s", (long long)seconds);
	signals_block(ending, &before); /* a signal before the wait must also end the
					   wait */
	signals_note(ending);
	answer = ask_on(cli, op, args, clock_steady_ms() + seconds * 1000, &before, f);
	if (cli->ended_by)
		tell_signal(cli, op, args);
	else if (answer && !f->code && !is_answered(op, answer))
		wait_verb_tell_end(cli, op, args, answer, FAULT_TIMEOUT, why, f);
	signals_release(ending, &before);
	if (f->code || cli->ended_by)
		json_decref(answer), answer = NULL;
	return answer;
}

int wait_status(const struct op *op, const json_t *answer)
{
	return is_true(answer, op->reached) ? 0 : STATUS_OTHERWISE;
}

/* --- after a write ------------------------------------------------------------------------ */

/* Returns the value with the name `name` from the answer, or else from the call's arguments. If
 * the answer's value is a record, returns the record's id. */
static json_t *wait_verb_value_of(const json_t *args, const json_t *answer,
				  const char *name)
{
	json_t *value = json_object_get(answer, name);

	if (json_is_object(value))
		value = json_object_get(value, "id");
	return value ? value : json_object_get(args, name);
}

/* The arguments of the read that waits for the work of a call. NULL: the call began no work
 * that a read can wait for. */
static json_t *wait_args(const struct op *op, const json_t *args, const json_t *answer)
{
	const struct record *in = op->until->in;
	json_t *out = json_object();

	for (size_t i = 0; i < in->n_fields; i++) {
		const struct field *field = &in->fields[i];
		json_t *value = field == op->until->wait
					? NULL
					: wait_verb_value_of(args, answer, field->name);

		for (const char *const *a = field->aliases; !value && a && *a; a++)
			value = wait_verb_value_of(args, answer, *a);
		if (value)
			json_object_set(out, field->name, value);
		else if (!(field->flags & (FIELD_OPTIONAL | FIELD_DEFAULT)))
			return json_decref(out), NULL;
	}
	for (const char *const *v = op->until_values; v && *v; v++) {
		if (!json_object_get(out, "until"))
			json_object_set_new(out, "until", json_array());
		json_array_append_new(json_object_get(out, "until"), json_string(*v));
	}
	return out;
}

int wait_behind(struct cli *cli, const struct op *op, const json_t *args, json_t *answer)
{
	json_t *asks = cli->waits ? wait_args(op, args, answer) : NULL, *end = NULL;
	struct fault f = { 0 };
	int status = 0;

	if (cli->waits && !asks)
		fputs("cadre: the command began nothing to wait for\n", stderr);
	if (asks) {
		fflush(stdout);
		end = wait_for(cli, op->until, asks, &f);
	}
	if (f.code)
		status = cli_say_fault(cli, &f);
	else if (end)
		status = wait_status(op->until, end);
	if (end && cli->json)
		json_object_set(answer, "waited", end);
	else if (end) {
		screen_says(cli, op->until, end);
		if (cli->people)
			screen_next(cli, op->until, end);
	}
	json_decref(end);
	json_decref(asks);
	return status;
}
