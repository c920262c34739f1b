/*
 * tell - the texts that a model is told.
 *
 * Lines that begin in the first column are cadre's own.  Those of a message stand behind a
 * blank, so that none can look like the heading of another.
 */
#include <string.h>

#include "tools/cadre/hook/hook.h"

static const char *tell_text_of(const json_t *json, const char *name)
{
	const char *text = json_string_value(json_object_get(json, name));

	return text ? text : "";
}

static long long tell_number_of(const json_t *json, const char *name)
{
	return json_integer_value(json_object_get(json, name));
}

/* Appends a text by other agents or people, on one line. */
static void tell_add_line(struct text *out, const char *text)
{
	struct arena arena = { 0 };

	text_add_said(out, cli_plain(&arena, text, false));
	arena_release(&arena);
}

/* Appends such a text in a heading, whose end it cannot look like. */
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

		text_addf(out, "Your task %s, %s", tell_text_of(task, "id"),
			  tell_text_of(task, "status"));
		if (left)
			text_addf(out, ", yours for %lld min more",
				  (long long)json_integer_value(left) / 60);
		text_addf(out, ": ");
		tell_add_line(out, tell_text_of(task, "title"));
		text_addf(out, "\n");
	}
	if (tell_number_of(start, "holds_more"))
		text_addf(out, "And %lld more: cadre board --mine\n",
			  tell_number_of(start, "holds_more"));
}

static void add_board(struct text *out, const json_t *start)
{
	const json_t *best = json_object_get(start, "best");

	text_addf(out, "Tasks: %lld ready, %lld pending", tell_number_of(start, "ready"),
		  tell_number_of(start, "pending"));
	if (best) {
		text_addf(out, "; best: %s ", tell_text_of(best, "id"));
		tell_add_line(out, tell_text_of(best, "title"));
	}
	if (*tell_text_of(start, "stuck"))
		text_addf(out, "; %s", tell_text_of(start, "stuck"));
	text_addf(out, "\nUnread messages: %lld\n", tell_number_of(start, "unread"));
}

static void tell_add_team(struct text *out, const json_t *start)
{
	const json_t *teammates = json_object_get(start, "teammates"), *mate;
	long long others = tell_number_of(start, "others");
	size_t i;

	if (!json_array_size(teammates))
		return;
	text_addf(out, "Team:");
	json_array_foreach(teammates, i, mate) {
		const char *task = tell_text_of(mate, "task");

		text_addf(out, "%s %s (", i ? "," : "", tell_text_of(mate, "name"));
		if (strcmp(tell_text_of(mate, "role"), tell_text_of(mate, "name")) != 0) {
			tell_add_line(out, tell_text_of(mate, "role"));
			text_addf(out, "%s", *tell_text_of(mate, "role") ? ", " : "");
		}
		text_addf(out, "%s%s%s)", tell_text_of(mate, "status"),
			  *task ? " on " : "", task);
	}
	if (others)
		text_addf(out, ", %lld more", others);
	text_addf(out, "\n");
}

void tell_prime(struct text *out, const json_t *start)
{
	text_addf(out,
		  "You are %s of team %s in cadre, which keeps the messages and tasks "
		  "of teams of agents",
		  tell_text_of(start, "name"), tell_text_of(start, "team"));
	if (*tell_text_of(start, "role") &&
	    strcmp(tell_text_of(start, "role"), tell_text_of(start, "name")) != 0) {
		text_addf(out, "; your role: ");
		tell_add_line(out, tell_text_of(start, "role"));
	}
	text_addf(out, ".\n");
	add_held(out, start);
	add_board(out, start);
	tell_add_team(out, start);
	if (*tell_text_of(start, "trouble")) {
		tell_add_line(out, tell_text_of(start, "trouble"));
		text_addf(out, "\n");
	}
	text_addf(out,
		  "Commands, also as tools of the MCP server cadre:\n"
		  "cadre inbox: read messages\n"
		  "cadre send NAME TEXT: write to a teammate, to lead, operator or '*'\n"
		  "cadre claim [TASK]: take a task, the best ready one\n"
		  "cadre note TASK TEXT: say how it goes\n"
		  "cadre done TASK TEXT: end it with its result\n");
}

void tell_beside(struct text *out, const json_t *who, pid_t other)
{
	const char *name = tell_text_of(who, "name");

	text_addf(
		out,
		"Another session here (process %d) is %s already, and is shown the mail "
		"of %s. To be an agent of your own, call the tool agents, action "
		"register, with another name.\n",
		(int)other, name, name);
}

/* The heading of a message: its sender, its number and properties, and the commands for it. */
static void tell_add_heading(struct text *out, const json_t *m)
{
	const char *from = tell_text_of(m, "from"),
		   *type = tell_text_of(m, "message_type");
	const long long seq = tell_number_of(m, "seq");

	if (!strcmp(from, "operator"))
		text_addf(out, "[From the operator, #%lld", seq);
	else
		text_addf(out, "[From agent \"%s\", #%lld", from, seq);
	if (!strcmp(tell_text_of(m, "priority"), "urgent"))
		text_addf(out, ", urgent");
	if (*type && strcmp(type, "text") != 0) {
		text_addf(out, ", ");
		tell_add_quoted(out, type);
	}
	if (*tell_text_of(m, "thread")) {
		text_addf(out, ", thread ");
		tell_add_quoted(out, tell_text_of(m, "thread"));
	}
	if (json_is_true(json_object_get(m, "ack_required")))
		text_addf(out, ", to be acknowledged: cadre ack '#%lld'", seq);
	if (json_object_get(m, "metadata") || json_object_get(m, "metadata_size"))
		text_addf(out, ", metadata: cadre message part '#%lld' metadata", seq);
	text_addf(out, "]:\n");
}

/* Bytes up to the end of the line at `s`, and in `*ends` the bytes of the line end.  A line end is
 * every character that a reader may take for a line end. */
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
	const char *content = tell_text_of(m, "content"), *line;
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
			(long long)json_integer_value(size), tell_number_of(m, "seq"),
			strlen(content));
}

void tell_messages(struct text *out, const json_t *shown, const json_t *who)
{
	const json_t *messages = json_object_get(shown, "messages"), *m;
	const long long pending = tell_number_of(shown, "pending");
	size_t n = json_array_size(messages), i;

	text_addf(
		out,
		"cadre: %zu new message%s for %s of team %s, shown this once. To answer "
		"#N: cadre reply '#N' TEXT, or the tool inbox.\n",
		n, n == 1 ? "" : "s", tell_text_of(who, "name"),
		tell_text_of(who, "team"));
	json_array_foreach(messages, i, m)
		tell_add_message(out, m);
	if (pending)
		text_addf(out, "%lld more wait: cadre inbox\n", pending);
}

void tell_nudge(struct text *out, const json_t *news)
{
	text_addf(out, "cadre: urgent messages for %s of team %s have come: %lld\n",
		  tell_text_of(news, "name"), tell_text_of(news, "team"),
		  tell_number_of(news, "urgent"));
}

void tell_reserved(struct text *out, const json_t *news)
{
	const json_t *r = json_object_get(news, "reserved");
	const char *holder = tell_text_of(r, "agent"),
		   *until = tell_text_of(r, "lease_until");

	text_addf(out, "cadre: ");
	tell_add_line(out, tell_text_of(news, "reserved_path"));
	/* Leases stand still in a team that is stopped. */
	text_addf(out, " is reserved by %s%s%s (", holder, *until ? " until " : "",
		  until);
	tell_add_line(out, tell_text_of(r, "glob"));
	if (*tell_text_of(r, "reason")) {
		text_addf(out, ": ");
		tell_add_line(out, tell_text_of(r, "reason"));
	}
	text_addf(out,
		  "). Work on another file, wait until it is free, or ask for it: cadre "
		  "send %s TEXT",
		  holder);
}

void tell_stopped(struct text *out, const json_t *who)
{
	text_addf(
		out,
		"cadre: team %s is stopped (estop): nothing may be done until its lead or "
		"the operator lets it go on (cadre thaw). End your turn, or wait with the "
		"tools of the MCP server cadre.",
		tell_text_of(who, "team"));
}
