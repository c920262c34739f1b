/*
 * hook - tells a client's model what is new for its agent, at an event of the client.
 *
 * Nothing that goes wrong here stops the client: the exit status is 0, standard output stays
 * empty, and the log gives the reason.  Messages are printed first, and then marked as shown.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/home/project.h"
#include "core/host/log.h"
#include "ops.gen.h"
#include "tools/cadre/hook/hook.h"

enum { BYTES_PER_TOKEN = 4, TOKENS_LEAST = 250 /* of message.show */ };

struct hook {
	struct cli *cli;
	const struct hook_client *client;
	const struct hook_rule *rule;
	struct hook_event event;
	char at[4096]; /* the folder of the event, from which its paths are told */
	char lost[4096]; /* the folder in which the session began, where it is gone */
	bool stays; /* session's folder is known, if the client tells sessions apart */
	atomic_bool placed; /* cli->home.dir is known, and stays */
	/* In a turn that a runner has started, mail comes with the turns: mail shown in a turn
	 * would be lost if that turn does not end well. */
	bool in_turn;
};

static json_t *hook_call(const struct hook *h, const struct op *op, json_t *args,
			 struct fault *f)
{
	json_t *answer = run_op(h->cli, op, args, f);

	json_decref(args);
	return answer;
}

/* A hook that has begun to write goes on: half a text, or a repeated text, would be worse than a
 * late text.  A hook whose time is up before it writes does not write any more. */
enum { RUNS, WRITES, ENDS, LATE };
static atomic_int stage;

/* Goes on to another stage, or no further where the time is up: then the process is about to end. */
static void hook_go_on(int next)
{
	if (atomic_exchange(&stage, next) == LATE)
		for (;;)
			pause();
}

/* Writes the whole text to standard output, which nobody else here uses: 0 or a fault. */
static int hook_write_out(const struct hook *h, const char *text, struct fault *f)
{
	struct text out = { 0 };
	size_t at = 0;
	ssize_t n = 0;

	hook_go_on(WRITES);
	form_fill(&out, h->rule, text);
	while (at < out.len &&
	       (n = write(STDOUT_FILENO, out.data + at, out.len - at)) >= 0)
		at += (size_t)n;
	text_release(&out);
	return n < 0 ? fault_set(f, FAULT_IO, "", "what is new cannot be written: %m")
		     : 0;
}

/* Says what was shown, so that it does not come again. */
static int hook_note_shown(const struct hook *h, const char *request, struct fault *f)
{
	json_decref(hook_call(h, op_message_shown,
			      json_pack("{s:[s]}", "requests", request), f));
	return f->code;
}

/* A hand-out that could not be written waits again at once, for the next hook. */
static void hook_give_back(const struct hook *h, const char *request)
{
	struct fault none = { 0 };

	json_decref(hook_call(h, op_message_seen, json_pack("{s:[s]}", "lost", request),
			      &none));
}

/* No more is shown at once than the client passes on, for written messages count as shown. */
static int64_t most_tokens(const struct hook *h)
{
	const int64_t said = h->cli->home.settings.config.hook_max_tokens;
	const int64_t most = h->client->tokens;

	return most && most < said ? most : said;
}

/* Shows messages behind what `text` holds already. */
static int hook_show(const struct hook *h, const json_t *who, struct text *text,
		     struct fault *f)
{
	int64_t room = most_tokens(h) - (int64_t)(text->len / BYTES_PER_TOKEN) - 1;
	char request[37];
	json_t *shown;
	bool any;
	int rc;

	if (room < TOKENS_LEAST)
		return text->len ? hook_write_out(h, text->data, f) : 0;
	client_key(request);
	shown = hook_call(h, op_message_show,
			  json_pack("{ss,sI,sb}", op_key(op_message_show), request,
				    "max_tokens", (json_int_t)room, "urgent",
				    h->rule->kind == HOOK_URGENT),
			  f);
	any = json_array_size(json_object_get(shown, "messages")) > 0;
	if (any)
		tell_messages(text, shown, who);
	json_decref(shown);
	rc = text->len ? hook_write_out(h, text->data, f) : 0;
	if (any && rc < 0)
		hook_give_back(h, request);
	return any && rc == 0 ? hook_note_shown(h, request, f) : rc;
}

static int hook_start(const struct hook *h, struct text *text, struct fault *f)
{
	json_t *who = hook_call(h, op_agent_start, json_object(), f);

	if (!who)
		return f->code;
	tell_prime(text, who);
	if (h->cli->home.beside)
		tell_beside(text, who, h->cli->home.beside);
	if (!h->cli->home.beside && json_integer_value(json_object_get(who, "unread")) &&
	    !h->in_turn)
		hook_show(h, who, text, f);
	else
		hook_write_out(h, text->data, f);
	json_decref(who);
	return f->code;
}

/* Whether a client's name for a tool is that of one of cadre's, as the server called so offers it. */
static bool hook_is_own(const char *name)
{
	static const char *const before[] = { "mcp__cadre__", "mcp_cadre_", "cadre_" };

	for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++) {
		size_t n = strlen(before[i]);

		for (size_t k = 0; k < tool_count && !strncmp(name, before[i], n); k++)
			if (!strcmp(name + n, tool_table[k].name))
				return true;
	}
	return false;
}

/* Whether a tool is about to run that writes the files which the event names. */
static bool writes_files(const struct hook *h)
{
	if (h->rule->kind != HOOK_TOOL || !json_array_size(h->event.paths))
		return false;
	for (const char *const *w = h->client->writers; *w; w++)
		if (!strcmp(h->event.tool, *w))
			return true;
	return false;
}

/* The files of the project that the tool is about to write: under the names that they are given, and
 * those to which links lead. */
static json_t *about_to_write(const struct hook *h)
{
	const struct home *home = &h->cli->home;
	json_t *paths = json_array(), *path;
	char spelled[4096], led[4096];
	struct project p;
	size_t i;

	if (!writes_files(h) ||
	    !(h->at[0] ? project_at(&p, home, h->at) : project_here(&p, home)))
		return paths;
	json_array_foreach(h->event.paths, i, path) {
		const char *given = json_string_value(path);

		if (!project_path(&p, given, spelled))
			continue;
		add_path(paths, spelled);
		if (project_path_led(&p, given, led) && strcmp(led, spelled))
			add_path(paths, led);
	}
	return paths;
}

/* Asks what is new, and for these paths, as many at once as may be, until one is reserved. */
static json_t *hook_ask(const struct hook *h, const json_t *paths, struct fault *f)
{
	json_t *news = NULL, *some;
	size_t i = 0;

	do {
		json_decref(news);
		some = json_array();
		while (i < json_array_size(paths) && json_array_size(some) < HOOK_PATHS)
			json_array_append(some, json_array_get(paths, i++));
		news = hook_call(h, op_message_news, json_pack("{so}", "paths", some), f);
	} while (news && i < json_array_size(paths) &&
		 !json_object_get(news, "reserved"));
	return news;
}

/* Looks for news by one read, and does nothing else if there is no news. */
static int hook_look(const struct hook *h, struct text *text, struct fault *f)
{
	json_t *paths = about_to_write(h), *news = hook_ask(h, paths, f);
	const enum hook_kind kind = h->rule->kind;
	const char *what = kind == HOOK_ALL ? "queued" : "urgent";

	json_decref(paths);
	if (!news)
		return f->code;
	if (kind == HOOK_TOOL) {
		if (json_is_true(json_object_get(news, "stopped")) &&
		    !hook_is_own(h->event.tool))
			tell_stopped(text, news);
		else if (json_object_get(news, "reserved"))
			tell_reserved(text, news);
	} else if (json_integer_value(json_object_get(news, what)) > 0 ||
		   (kind == HOOK_ALL &&
		    json_integer_value(json_object_get(news, "chain")))) {
		if (kind == HOOK_NUDGE)
			tell_nudge(text, news);
		else
			hook_show(h, news, text, f);
	}
	if (text->len && (kind == HOOK_TOOL || kind == HOOK_NUDGE))
		hook_write_out(h, text->data, f);
	json_decref(news);
	return f->code;
}

static const struct hook_rule *rule_of(const struct hook_client *client,
				       const char *event)
{
	for (const struct hook_rule *r = client->rules; r->event; r++)
		if (!strcmp(r->event, event))
			return r;
	return NULL;
}

/* Writes into the log of the host of this state, "": none, what went wrong, also where no host runs. */
static void tell_log(const struct hook *h, const char *dir, const struct fault *why)
{
	struct fault none = { 0 };
	struct log *log = NULL;

	if (*dir)
		log_open(&log, dir, LOG_LEVEL_WARN, false, &none);
	log_line(log, LOG_LEVEL_WARN, "a hook told nothing",
		 LOG_TEXT("client", h->client->name),
		 LOG_TEXT("event", h->event.name[0] ? h->event.name : NULL),
		 LOG_FAULT(why));
	if (!log)
		fprintf(stderr, "cadre: %s\n", why->text);
	log_close(log);
}

/* Says why nothing was told, once the hook is about to end. */
static void tell_fault(struct hook *h, const struct fault *why)
{
	struct home *home = &h->cli->home;
	struct fault none = { 0 };

	if (!home->dir[0])
		home_find(home, h->cli->dir, HOME_WRITE, &none);
	tell_log(h, none.code ? "" : home->dir, why);
}

/* `h` stays valid here: if this thread is the first at the end, the hook's main thread waits. */
static void *end_in_time(void *arg)
{
	static const struct timespec most = { .tv_sec = HOOK_MOST_MS / 1000,
					      .tv_nsec = HOOK_MOST_MS % 1000 * 1000000 };
	const struct hook *h = arg;
	struct fault f = { 0 };
	int now = RUNS;

	nanosleep(&most, NULL);
	if (atomic_compare_exchange_strong(&stage, &now, LATE)) {
		fault_set(&f, FAULT_TIMEOUT, "", "the state did not answer within %d ms",
			  HOOK_MOST_MS);
		tell_log(h, h->placed ? h->cli->home.dir : "", &f);
	}
	if (now != WRITES)
		_exit(0);
	return NULL;
}

/* From here on the hook takes a bounded time, whoever holds the state.  Signals are for the thread
 * that works. */
static void limit_time(struct hook *h)
{
	sigset_t all, old;
	pthread_t thread;

	h->cli->hurry_ms = HOOK_HURRY_MS;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&thread, NULL, end_in_time, h) == 0)
		pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* Goes to the folder in which the session began, or to the event's own where that is gone. */
static int go_there(struct hook *h, struct fault *f)
{
	struct hook_event *e = &h->event;

	if (!e->cwd[0] || chdir(e->cwd) == 0)
		return 0;
	if (strcmp(e->cwd, h->at) != 0 && chdir(h->at) == 0) {
		memcpy(h->lost, e->cwd, sizeof(h->lost));
		return 0;
	}
	return fault_set(f, FAULT_INVALID, "/cwd", "%.150s: %m", e->cwd);
}

/* Whether a session whose first folder is gone would become the agent of a directory that this was
 * not in. */
static bool is_stranger(const struct hook *h)
{
	const struct home *home = &h->cli->home;
	size_t n = strlen(home->place);

	return h->lost[0] && home->who == HOME_BY_PLACE &&
	       (strncmp(h->lost, home->place, n) != 0 || h->lost[n] != '/');
}

/* Whether the session may have come from another agent's directory: that one's mail is not for
 * it. */
static bool is_unsure(const struct hook *h)
{
	return !h->stays && h->cli->home.who == HOME_BY_PLACE &&
	       h->rule->kind != HOOK_START && h->rule->kind != HOOK_TOOL;
}

/* Answers an event; the agent is looked for in the client's folder. */
static int hook_answer(struct hook *h, struct fault *f)
{
	struct text text = { 0 };

	if (event_read(STDIN_FILENO, &h->event, f) < 0)
		return f->code;
	h->rule = rule_of(h->client, h->event.name);
	/* A model that the agent's own one has started may keep to itself what is said to the
	 * agent. */
	if (!h->rule || (h->event.inner[0] && h->rule->kind != HOOK_TOOL))
		return 0;
	if (h->rule->kind == HOOK_END) {
		session_forget(&h->event, h->client->name);
		return 0;
	}
	memcpy(h->at, h->event.cwd, sizeof(h->at));
	h->stays = session_stay(&h->event, h->client->name, h->rule->kind == HOOK_START);
	if (go_there(h, f) < 0)
		return f->code;
	limit_time(h);
	if (cli_client(h->cli, HOME_WRITE, f) < 0)
		return f->code == FAULT_NOT_FOUND ? 0 : (int)f->code;
	h->placed = true;
	if (is_stranger(h))
		return fault_set(f, FAULT_INVALID, "/cwd", "%.150s is gone", h->lost);
	if (!h->cli->home.identity.agent)
		return 0;
	if (is_unsure(h))
		return fault_set(f, FAULT_IO, "/session_id",
				 "where the session began cannot be kept");
	h->in_turn = getenv("CADRE_TURN") != NULL;
	if (h->rule->kind == HOOK_START) {
		home_begin_session(&h->cli->home);
		hook_start(h, &text, f);
	} else if (h->rule->kind == HOOK_TOOL || !(h->in_turn || h->cli->home.beside)) {
		hook_look(h, &text, f);
	}
	text_release(&text);
	return f->code;
}

static const struct hook_client *client_named(const char *name)
{
	for (const struct hook_client *c = hook_clients; c->name; c++)
		if (!strcmp(name, c->name) || (c->also && !strcmp(name, c->also)))
			return c;
	return NULL;
}

/* Tells a person a wrong use, with a status at which no client blocks. */
static int misused(struct cli *cli)
{
	cli_usage(
		cli,
		"`hook` takes claude, codex, gemini, cursor or opencode, and an event of "
		"it on standard input; `hook opencode --plugin` prints its plugin; `hook "
		"pre-commit` is for git");
	return 1;
}

int hook_main(struct cli *cli, int argc, char **argv)
{
	struct hook h = { .cli = cli, .client = argc > 1 ? client_named(argv[1]) : NULL };
	struct fault f = { 0 };
	int rc;

	if (argc == 3 && h.client && !strcmp(h.client->name, "opencode") &&
	    !strcmp(argv[2], "--plugin")) {
		fputs(plugin_opencode, stdout);
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "pre-commit"))
		return guard_commit(cli);
	if (argc != 2 || !h.client || isatty(STDIN_FILENO))
		return misused(cli);
	signal(SIGPIPE, SIG_IGN);
	rc = hook_answer(&h, &f);
	hook_go_on(ENDS);
	if (rc < 0)
		tell_fault(&h, &f);
	event_release(&h.event);
	return 0;
}
