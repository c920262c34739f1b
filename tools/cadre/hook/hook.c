/*
 * hook - runs at an event of a client, and tells the client's model the news for the model's
 * agent.
 *
 * No fault of a hook stops the client. After a fault the exit status is 0, standard output
 * stays empty, and the log has the reason. Messages are printed first, and only afterwards
 * marked as shown.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/home/here.h"
#include "core/home/home_find.h"
#include "core/home/paths.h"
#include "core/home/project.h"
#include "core/host/log.h"
#include "core/reservation/glob.h"
#include "ops.gen.h"
#include "storage/durable.h"
#include "tools/cadre/hook/hook.h"

/*
 * The texts for a model.
 *
 * Lines by cadre itself begin in the first column. Lines of a message begin with a blank, so
 * that no line can look like the heading of another message.
 */

/* Appends a text by other agents or people, on one line. */
static void tell_add_line(struct text *out, const char *text)
{
	struct arena arena = { 0 };

	text_add_said(out, cli_plain(&arena, text, false));
	arena_release(&arena);
}

/* Appends a text written by other agents or people to a heading. Brackets are replaced, so that
 * the text cannot look like the end of the heading. */
static void tell_add_quoted(struct text *out, const char *text)
{
	struct text said = { 0 };

	tell_add_line(&said, text);
	for (size_t i = 0; i < said.len; i++)
		if (strchr("[]", said.data[i]))
			said.data[i] = said.data[i] == '[' ? '(' : ')';
	text_add_json(out, said.len ? said.data : "");
	text_release(&said);
}

static void add_held(struct text *out, const json_t *start)
{
	const json_t *holding = json_object_get(start, "holding");
	const json_t *task;
	size_t i;

	json_array_foreach(holding, i, task) {
		const json_t *left = json_object_get(task, "left_seconds");

		text_addf(out, "Your task %s, %s", json_text_at(task, "id"),
			  json_text_at(task, "status"));
		if (left)
			text_addf(out, ", yours for %lld min more",
				  ((long long)json_integer_value(left) + 59) / 60);
		text_addf(out, ": ");
		tell_add_line(out, json_text_at(task, "title"));
		if (*json_text_at(task, "blocked")) {
			text_addf(out, ": ");
			tell_add_line(out, json_text_at(task, "blocked"));
		}
		text_addf(out, "\n");
	}
	if (json_int_at(start, "holds_more"))
		text_addf(out, "And %lld more: cadre board --mine\n",
			  json_int_at(start, "holds_more"));
}

/* Says what the agent does first: mail before held tasks, held tasks before a new task. */
static void tell_add_next(struct text *out, const json_t *start)
{
	const json_t *held = json_array_get(json_object_get(start, "holding"), 0),
		     *best = json_object_get(start, "best");
	const long long unread = json_int_at(start, "unread");

	if (unread)
		text_addf(out, "Next: %lld message%s for you: cadre inbox", unread,
			  unread == 1 ? "" : "s");
	else if (held)
		text_addf(out, "Next: go on with %s", json_text_at(held, "id"));
	else if (!json_int_at(start, "ready"))
		text_addf(out, "Next: cadre wait");
	else
		text_addf(out, "Next: cadre claim");
	if (!unread && !held && best) {
		text_addf(out, " %s: ", json_text_at(best, "id"));
		tell_add_line(out, json_text_at(best, "title"));
	}
	text_addf(out, "\n");
}

static void add_board(struct text *out, const json_t *start)
{
	const long long ready = json_int_at(start, "ready");

	text_addf(out, "Tasks: %lld ready, %lld waiting for others", ready,
		  json_int_at(start, "pending") - ready);
	if (*json_text_at(start, "stuck"))
		text_addf(out, "; %s", json_text_at(start, "stuck"));
	text_addf(out, "\n");
}

static void tell_add_team(struct text *out, const json_t *start)
{
	const json_t *teammates = json_object_get(start, "teammates"), *mate;
	long long others = json_int_at(start, "others");
	size_t i;

	if (!json_array_size(teammates))
		return;
	text_addf(out, "Team:");
	json_array_foreach(teammates, i, mate) {
		const char *task = json_text_at(mate, "task");

		text_addf(out, "%s %s (", i ? "," : "", json_text_at(mate, "name"));
		if (strcmp(json_text_at(mate, "role"), json_text_at(mate, "name")) != 0) {
			tell_add_line(out, json_text_at(mate, "role"));
			text_addf(out, "%s", *json_text_at(mate, "role") ? ", " : "");
		}
		text_addf(out, "%s%s%s)", json_text_at(mate, "status"),
			  *task ? " on " : "", task);
	}
	if (others)
		text_addf(out, ", %lld more", others);
	text_addf(out, "\n");
}

static void add_reserved(struct text *out, const json_t *start)
{
	const json_t *line;
	size_t i;

	json_array_foreach(json_object_get(start, "reserved"), i, line) {
		text_addf(out, "%s", i ? "; " : "Reserved: ");
		tell_add_line(out, json_string_value(line));
	}
	text_addf(out, "%s", i ? "\n" : "");
}

static void tell_prime(struct text *out, const json_t *start)
{
	text_addf(out,
		  "You are %s of team %s in cadre, which keeps the messages and tasks "
		  "of teams of agents",
		  json_text_at(start, "name"), json_text_at(start, "team"));
	if (*json_text_at(start, "role") &&
	    strcmp(json_text_at(start, "role"), json_text_at(start, "name")) != 0) {
		text_addf(out, "; your role: ");
		tell_add_line(out, json_text_at(start, "role"));
	}
	text_addf(out, ".\n");
	tell_add_next(out, start);
	add_held(out, start);
	add_board(out, start);
	tell_add_team(out, start);
	add_reserved(out, start);
	if (*json_text_at(start, "trouble")) {
		tell_add_line(out, json_text_at(start, "trouble"));
		text_addf(out, "\n");
	}
	text_addf(
		out,
		"Commands, also tools of the MCP server cadre:\n"
		"cadre inbox: read messages\n"
		"cadre wait [TASK|NAME]: wait for mail, a ready task, news of TASK or NAME\n"
		"cadre send NAME TEXT: write to a teammate, lead, operator or '*'\n"
		"cadre claim [TASK]: take TASK, or the best ready task\n"
		"cadre note TASK TEXT: say how it goes\n"
		"cadre reserve PATH: keep others from editing the file\n"
		"cadre tick TASK NUMBER: tick a criterion, before done\n"
		"cadre done TASK TEXT: end it with its result\n");
}

/* Appends a warning that another session in this folder already acts as the agent. `other`: the
 * number of the other session's process. */
static void tell_beside(struct text *out, const json_t *who, pid_t other)
{
	const char *name = json_text_at(who, "name");

	text_addf(
		out,
		"Another session here (process %d) is %s already, and is shown the mail "
		"of %s. To be an agent of your own, call the tool agents, action "
		"register, with another name.\n",
		(int)other, name, name);
}

/* Appends the heading of a message. The heading has the message's sender, number and
 * properties, and the commands for the message. */
static void tell_add_heading(struct text *out, const json_t *m)
{
	const char *from = json_text_at(m, "from"),
		   *type = json_text_at(m, "message_type");
	const long long seq = json_int_at(m, "seq");

	if (!strcmp(from, "operator"))
		text_addf(out, "[From the operator, #%lld", seq);
	else
		text_addf(out, "[From agent \"%s\", #%lld", from, seq);
	if (!strcmp(json_text_at(m, "priority"), "urgent"))
		text_addf(out, ", urgent");
	if (*type && strcmp(type, "text") != 0) {
		text_addf(out, ", ");
		tell_add_quoted(out, type);
	}
	if (*json_text_at(m, "thread")) {
		text_addf(out, ", thread ");
		tell_add_quoted(out, json_text_at(m, "thread"));
	}
	if (json_is_true(json_object_get(m, "ack_required")))
		text_addf(out, ", to be acknowledged: cadre ack '#%lld'", seq);
	if (json_object_get(m, "metadata") || json_object_get(m, "metadata_size"))
		text_addf(out, ", metadata: cadre message part '#%lld' metadata", seq);
	text_addf(out, "]:\n");
}

/* Returns the number of bytes of the line at `s`, without the line end. `*ends` becomes the
 * number of bytes of the line end. Every character that a reader may take for a line end counts
 * as a line end. */
static size_t tell_line_size(const char *s, size_t *ends)
{
	static const char *const wide[] = { "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9" };
	size_t n = 0;

	for (; s[n]; n++) {
		if (strchr("\n\r\v\f", s[n])) {
			*ends = s[n] == '\r' && s[n + 1] == '\n' ? 2 : 1;
			return n;
		}
		for (size_t i = 0; i < 3 && (s[n] & 0x80); i++)
			if (!strncmp(s + n, wide[i], strlen(wide[i]))) {
				*ends = strlen(wide[i]);
				return n;
			}
	}
	*ends = 0;
	return n;
}

static void tell_add_message(struct text *out, const json_t *m)
{
	const json_t *size = json_object_get(m, "content_size");
	const char *content = json_text_at(m, "content"), *line;
	struct text said = { 0 };

	tell_add_heading(out, m);
	text_add_said(&said, content);
	for (line = said.len ? said.data : ""; *line;) {
		size_t ends, n = tell_line_size(line, &ends);

		text_addf(out, " %.*s\n", (int)n, line);
		line += n + ends;
	}
	text_release(&said);
	if (size)
		text_addf(
			out,
			"[of %lld bytes; the rest: cadre message part '#%lld' --offset %zu]\n",
			(long long)json_integer_value(size), json_int_at(m, "seq"),
			strlen(content));
}

/* Appends the messages that an answer of message.show holds. `who`: an answer that holds the
 * agent's name and the team's name. */
static void tell_messages(struct text *out, const json_t *shown, const json_t *who)
{
	const json_t *messages = json_object_get(shown, "messages"), *m;
	const long long pending = json_int_at(shown, "pending");
	size_t n = json_array_size(messages), i;

	text_addf(
		out,
		"cadre: %zu new message%s for %s of team %s, shown only once. To answer "
		"#N: cadre reply '#N' TEXT, or the tool inbox.\n",
		n, n == 1 ? "" : "s", json_text_at(who, "name"),
		json_text_at(who, "team"));
	json_array_foreach(messages, i, m)
		tell_add_message(out, m);
	if (pending)
		text_addf(out, "%lld more wait: cadre inbox\n", pending);
}

/* Appends a line which says that urgent messages wait. */
static void tell_nudge(struct text *out, const json_t *news)
{
	text_addf(out, "cadre: urgent messages for %s of team %s have come: %lld\n",
		  json_text_at(news, "name"), json_text_at(news, "team"),
		  json_int_at(news, "urgent"));
}

/* Appends a line which says that the agent holds a task, and what can be done. */
static void tell_holding(struct text *out, const json_t *news)
{
	const char *task = json_text_at(news, "holds");

	text_addf(out,
		  "cadre: you still hold task %s. Finish the task (cadre done %s TEXT), "
		  "release it (cadre release %s), or say why it waits (cadre block %s "
		  "TEXT).\n",
		  task, task, task, task);
}

/* Appends the holder of a reserved file, from an answer of message.news. */
static void tell_reserved(struct text *out, const json_t *news)
{
	const json_t *r = json_object_get(news, "reserved");
	const char *holder = json_text_at(r, "agent"),
		   *until = json_text_at(r, "lease_until");
	const long long left = (time_parse(until) - clock_wall_ms() + 59999) / 60000;

	text_addf(out, "cadre: ");
	tell_add_line(out, json_text_at(news, "reserved_path"));
	/* In a stopped team, the lease of a reservation does not run, so `until` is empty. */
	text_addf(out, " is reserved by %s", holder);
	if (*until && left > 0)
		text_addf(out, " for %lld min more", left);
	text_addf(out, " (");
	tell_add_line(out, json_text_at(r, "glob"));
	if (*json_text_at(r, "reason")) {
		text_addf(out, ": ");
		tell_add_line(out, json_text_at(r, "reason"));
	}
	text_addf(out,
		  "). Work on another file, wait until it is free, or ask for it: cadre "
		  "send %s TEXT",
		  holder);
}

/* Appends the reason why no tool may run now. */
static void tell_stopped(struct text *out, const json_t *who)
{
	text_addf(
		out,
		"cadre: team %s is stopped (estop): nothing may be done until its lead or "
		"the operator lets it go on (cadre thaw). End your turn, or wait with the "
		"tools of the MCP server cadre.",
		json_text_at(who, "team"));
}

/*
 * `cadre hook pre-commit`, which git runs before a commit. The hook refuses a commit of a file
 * that another agent has reserved.
 *
 * The committer's identity is found in the same way as the identity of a command's caller. The
 * commit of a person or of an unknown caller is never refused. If the state cannot be read, no
 * commit is refused.
 */

/* Adds a path to the paths for message.news. Each byte that is no UTF-8 becomes U+FFFD, which
 * the wildcards `?` and `*` match. A path that is too long for the operation is left out. */
static void add_path(json_t *paths, const char *path)
{
	json_t *text = json_text(path);

	if (*path && json_string_length(text) < GLOB_PATH - 1)
		json_array_append(paths, text);
	json_decref(text);
}

/* Asks whether one of the paths is reserved. Takes over the reference to `paths`. If a path is
 * reserved, prints the holder and returns 1. Returns 0 if all paths are free, or a fault. */
static int refuses(struct cli *cli, json_t *paths, struct fault *f)
{
	json_t *news =
		run_args(cli, op_message_news, json_pack("{so}", "paths", paths), f);
	struct text why = { 0 };
	int rc = news ? json_object_get(news, "reserved") != NULL : (int)f->code;
	if (rc > 0) {
		tell_reserved(&why, news);
		fprintf(stderr, "%s\n", why.data);
	}
	text_release(&why);
	json_decref(news);
	return rc;
}

/* Finds the path of the repository's top folder, relative to the project. Git runs its hooks in
 * the top folder, and prints paths relative to the top folder. The found path is empty except
 * in a submodule. */
static void find_prefix(const struct cli *cli, char out[4096])
{
	struct project p;

	if (!project_here(&p, &cli->home) || !here_is_top(p.here) ||
	    !project_path(&p, p.here, out))
		*out = '\0';
}

static void add_below(json_t *paths, const char *prefix, const char *path)
{
	char whole[4096];

	if (!*prefix)
		add_path(paths, path);
	else if (paths_join(whole, prefix, path))
		add_path(paths, whole);
}

/* Checks all paths that git prints, with several paths in each call. Returns the number of
 * calls that found a reserved path, or a fault. */
static int guard_ask_all(struct cli *cli, FILE *git, struct fault *f)
{
	json_t *paths = json_array();
	char *path = NULL, prefix[4096];
	int refused = 0, rc = 0;
	bool over = false;
	size_t room = 0;

	find_prefix(cli, prefix);
	while (!over && rc >= 0) {
		over = getdelim(&path, &room, '\0', git) <= 0;
		if (!over)
			add_below(paths, prefix, path);
		if (json_array_size(paths) < (over ? 1 : HOOK_PATHS))
			continue;
		rc = refuses(cli, json_incref(paths), f);
		refused += rc > 0;
		json_array_clear(paths);
	}
	free(path);
	json_decref(paths);
	return refused ? refused : rc;
}

/* Checks that no other agent has reserved a file that is staged in git. Returns the exit status
 * of git's hook. */
static int guard_commit(struct cli *cli)
{
	struct fault f = { 0 };
	FILE *git;
	int rc;

	if (cli_client(cli, HOME_WRITE, &f) < 0 || !cli->home.identity.agent)
		return 0;
	git = popen("git diff --cached --name-only --no-renames --no-relative "
		    "--ignore-submodules=none -z",
		    "r");
	if (!git)
		return 0;
	rc = guard_ask_all(cli, git, &f);
	pclose(git);
	if (rc < 0)
		fprintf(stderr, "cadre: reservations were not checked: %s\n", f.text);
	return rc > 0;
}

enum {
	BYTES_PER_TOKEN = 4,
	TOKENS_LEAST = 250 /* minimum of max_tokens in message.show */
};

struct hook {
	struct cli *cli;
	const struct hook_client *client;
	const struct hook_rule *rule;
	struct hook_event event;
	char at[4096]; /* folder to which the paths of the event are relative */
	char lost[4096]; /* folder in which the session began, if that folder is gone */
	bool stays; /* the session's first folder is known, or the session has no name */
	atomic_bool placed; /* cli->home.dir is set, and will not change */
	/* A runner has started this turn, and gives the agent its mail at the start of each
	 * turn. If the hook showed mail and the turn failed, this mail would be lost. */
	bool in_turn;
};

/* The stages of a hook. A hook that has begun to write completes its text, even if its time is
 * up. Half a text, or a repeated text, would be worse than a late end. A hook whose time ends
 * before its first write writes nothing. */
enum { RUNS, WRITES, ENDS, LATE };
static atomic_int stage;

/* Enters the next stage. If the time is up, this call never returns, because the thread of
 * end_in_time() is about to end the process. */
static void hook_go_on(int next)
{
	if (atomic_exchange(&stage, next) == LATE)
		for (;;)
			pause();
}

/* Writes the whole text to standard output, which no other code of the hook uses. Returns 0 or
 * a fault. */
static int hook_write_out(const struct hook *h, const char *text, struct fault *f)
{
	struct text out = { 0 };
	size_t at = 0;
	ssize_t n = 0;

	hook_go_on(WRITES);
	hook_form_fill(&out, h->rule, text);
	while (at < out.len &&
	       (n = write(STDOUT_FILENO, out.data + at, out.len - at)) >= 0)
		at += (size_t)n;
	text_release(&out);
	return n < 0 ? fault_set(f, FAULT_IO, "", "the news cannot be written: %m") : 0;
}

/* Marks messages as shown, so that they are not shown again. */
static int hook_note_shown(const struct hook *h, const char *request, struct fault *f)
{
	json_decref(run_args(h->cli, op_message_shown,
			     json_pack("{s:[s]}", "requests", request), f));
	return f->code;
}

/* If messages could not be written, puts the messages back into the inbox at once, so that the
 * next hook gets these messages. */
static void hook_give_back(const struct hook *h, const char *request)
{
	struct fault none = { 0 };

	json_decref(run_args(h->cli, op_message_seen,
			     json_pack("{s:[s]}", "lost", request), &none));
}

/* The maximum number of tokens that a hook writes. All written messages count as shown, so the
 * number does not exceed the number of tokens that the client passes on. */
static int64_t most_tokens(const struct hook *h)
{
	const int64_t said = h->cli->home.settings.config.hook_max_tokens;
	const int64_t most = h->client->tokens;

	return most && most < said ? most : said;
}

/* Appends new messages to `text`, writes `text`, and marks the messages as shown. */
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
	shown = run_args(h->cli, op_message_show,
			 json_pack("{ss,sI,sb}", op_key(op_message_show), request,
				   "max_tokens", (json_int_t)room, "urgent",
				   h->rule->kind == HOOK_URGENT ||
					   h->rule->kind == HOOK_STOP),
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
	json_t *who = run_args(h->cli, op_agent_start, json_object(), f);

	if (!who)
		return f->code;
	tell_prime(text, who);
	if (h->cli->home.beside)
		tell_beside(text, who, h->cli->home.beside);
	if (!h->cli->home.beside && json_int_at(who, "unread") && !h->in_turn)
		hook_show(h, who, text, f);
	else
		hook_write_out(h, text->data, f);
	json_decref(who);
	return f->code;
}

/* Whether `name` is a client's name for a tool of an MCP server that is named cadre. */
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

/* Whether the event is about a tool that will write the files named in the event. */
static bool writes_files(const struct hook *h)
{
	if (h->rule->kind != HOOK_TOOL || !json_array_size(h->event.paths))
		return false;
	for (const char *const *w = h->client->writers; *w; w++)
		if (!strcmp(h->event.tool, *w))
			return true;
	return false;
}

/* Lists the files that the tool is about to write, by their paths relative to the project. If
 * the client's path leads through links to another path, both paths are listed. */
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

/* Asks the state for news, and whether one of the paths is reserved. Each call has at most
 * HOOK_PATHS paths. After the first reserved path no further call is made. */
static json_t *hook_ask(const struct hook *h, const json_t *paths, struct fault *f)
{
	json_t *news = NULL, *some;
	size_t i = 0;

	do {
		json_decref(news);
		some = json_array();
		while (i < json_array_size(paths) && json_array_size(some) < HOOK_PATHS)
			json_array_append(some, json_array_get(paths, i++));
		news = run_args(h->cli, op_message_news, json_pack("{so}", "paths", some),
				f);
	} while (news && i < json_array_size(paths) &&
		 !json_object_get(news, "reserved"));
	return news;
}

/* Reads the news. If there is news, writes the text that the kind of the event requires. */
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
	} else if (json_int_at(news, what) > 0 ||
		   (kind == HOOK_ALL && json_int_at(news, "chain"))) {
		if (kind == HOOK_NUDGE)
			tell_nudge(text, news);
		else
			hook_show(h, news, text, f);
	} else if (kind == HOOK_STOP && *json_text_at(news, "holds") &&
		   session_reminds(&h->event, h->client->name,
				   json_text_at(news, "holds"))) {
		tell_holding(text, news);
		hook_write_out(h, text->data, f);
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

/* Writes the fault into the host log of the state in `dir`. No host has to run. If `dir` is ""
 * or the log cannot be opened, writes the fault to stderr. */
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

/* Logs the reason why the model was told nothing. The hook ends after this call. */
static void tell_fault(struct hook *h, const struct fault *why)
{
	struct home *home = &h->cli->home;
	struct fault none = { 0 };

	if (!home->dir[0])
		home_find(home, h->cli->dir, HOME_WRITE, &none);
	tell_log(h, none.code ? "" : home->dir, why);
}

/* Ends the process when the hook's time is up. `h` stays valid, because the main thread waits
 * in hook_go_on() if this thread sets the stage LATE. */
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

/* Limits the time of the hook from this call on, even if another process locks the state. Only
 * the main thread handles signals. */
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

/* Changes into the folder in which the session began. If that folder is gone, changes into the
 * event's own folder. */
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

/* Whether the session's first folder is gone, and the identity belongs to a directory that did
 * not contain this folder. */
static bool is_stranger(const struct hook *h)
{
	const struct home *home = &h->cli->home;
	size_t n = strlen(home->place);

	return h->lost[0] && home->who == HOME_BY_PLACE &&
	       (strncmp(h->lost, home->place, n) != 0 || h->lost[n] != '/');
}

/* Whether the event may show mail, and the identity comes from this directory, but the folder
 * in which the session began is not known. A session from another directory must not get the
 * mail of this directory's agent. */
static bool is_unsure(const struct hook *h)
{
	return !h->stays && h->cli->home.who == HOME_BY_PLACE &&
	       h->rule->kind != HOOK_START && h->rule->kind != HOOK_TOOL;
}

/* Answers an event. The agent's identity is looked for in the folder in which the session
 * began. */
static int hook_answer(struct hook *h, struct fault *f)
{
	struct text text = { 0 };

	if (event_read(STDIN_FILENO, &h->event, f) < 0)
		return f->code;
	h->rule = rule_of(h->client, h->event.name);
	/* An inner model, which the agent's model started, perhaps does not pass on the news.
	 * For an inner model, the hook only checks the tools. */
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
				 "the folder of the session cannot be stored");
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

/* Reports wrong use to a person. No client blocks its model because of this exit status. */
static int misused(struct cli *cli)
{
	cli_usage(
		cli,
		"`hook` takes claude, codex, gemini, cursor or opencode, and an event of "
		"that client on standard input; `hook opencode --plugin` prints its "
		"plugin; `hook pre-commit` is for git");
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

/*
 * `cadre prime` prints a short text for a model. The text has the name and the tasks of the
 * model's agent, the number of unread messages, and useful commands.
 */

int prime_main(struct cli *cli, int argc, char **argv)
{
	struct fault f = { 0 };
	struct text text = { 0 };
	json_t *start;

	cli->hurry_ms = HOOK_HURRY_MS;
	if (argc > 1)
		return cli_usage(cli, "`%s` takes no words", argv[0]);
	if (cli_client(cli, HOME_LOOK, &f) < 0 && f.code != FAULT_NOT_FOUND)
		return cli_fault(cli, &f);
	if (f.code || !cli->home.identity.agent) {
		cli_say("cadre: you are no agent here yet; to become an agent of this "
			"directory: %scadre agent register NAME --here",
			f.code ? "cadre init, cadre team create TEAM, " : "");
		return 0;
	}
	start = run_args(cli, op_agent_start, json_object(), &f);
	if (!start)
		return cli_fault(cli, &f);
	if (cli->json) {
		print_json(start);
	} else {
		tell_prime(&text, start);
		fputs(text.data, stdout);
	}
	text_release(&text);
	json_decref(start);
	return 0;
}
