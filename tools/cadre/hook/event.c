/*
 * event - reads what a client says to its hook, in constant memory.
 *
 * An event may hold the whole answer of a tool.  Only texts at its top are looked at, and the
 * first of a list of folders.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "tools/cadre/hook/hook.h"

enum { BYTES_MAX = 64 << 20, PATIENCE_MS = 5000 };

struct scan {
	struct hook_event *out;
	size_t depth;
	bool begun, over, broken;
	bool quoted, escaped; /* in a text; behind a backslash */
	bool value; /* at the top: behind a colon */
	bool keeps; /* the text is kept in `word` */
	char key[32];
	char word[sizeof(((struct hook_event *)0)->cwd)]; /* as JSON, without its quotes */
	size_t n; /* bytes of it; too many: it is passed over */
};

/* The place of a text of the event, or NULL. */
static char *place_of(struct scan *s, size_t *room)
{
	struct hook_event *e = s->out;
	const struct {
		const char *key;
		char *place;
		size_t room;
	} all[] = { { "hook_event_name", e->name, sizeof(e->name) },
		    { "cwd", e->cwd, sizeof(e->cwd) },
		    { "workspace_roots", e->cwd, sizeof(e->cwd) },
		    { "tool_name", e->tool, sizeof(e->tool) },
		    { "session_id", e->session, sizeof(e->session) },
		    { "agent_id", e->inner, sizeof(e->inner) } };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!strcmp(s->key, all[i].key) && !all[i].place[0]) {
			*room = all[i].room;
			return all[i].place;
		}
	return NULL;
}

static void keep_value(struct scan *s)
{
	size_t room = 0;
	char *place = place_of(s, &room);
	json_t *text;

	if (!place)
		return;
	memmove(s->word + 1, s->word, s->n);
	s->word[0] = s->word[s->n + 1] = '"';
	text = json_loadb(s->word, s->n + 2, JSON_DECODE_ANY, NULL);
	if (text && json_string_length(text) < room)
		memcpy(place, json_string_value(text), json_string_length(text) + 1);
	json_decref(text);
}

static void end_text(struct scan *s)
{
	s->quoted = false;
	if (!s->keeps || s->n > sizeof(s->word) - 2)
		return;
	if (s->depth == 1 && !s->value && s->n < sizeof(s->key)) {
		memcpy(s->key, s->word, s->n);
		s->key[s->n] = '\0';
	} else if (s->depth == 2 || s->value) {
		keep_value(s);
	}
}

static void in_text(struct scan *s, char c)
{
	if (c == '"' && !s->escaped) {
		end_text(s);
		return;
	}
	s->escaped = c == '\\' && !s->escaped;
	if (s->keeps && s->n < sizeof(s->word))
		s->word[s->n++] = c;
}

static void begin_text(struct scan *s)
{
	s->quoted = true;
	s->n = 0;
	if (s->depth == 1 && !s->value)
		s->key[0] = '\0';
	s->keeps = s->depth == 1 || (s->depth == 2 && !strcmp(s->key, "workspace_roots"));
}

static void take(struct scan *s, char c)
{
	if (s->quoted) {
		in_text(s, c);
		return;
	}
	if (strchr(" \t\r\n", c) && c)
		return;
	if (s->over || (!s->begun && c != '{')) {
		s->broken = true;
		return;
	}
	s->begun = true;
	if (c == '"')
		begin_text(s);
	else if (c == '{' || c == '[')
		s->depth++;
	else if (c == '}' || c == ']')
		s->over = --s->depth == 0;
	else if (s->depth == 1 && (c == ':' || c == ','))
		s->value = c == ':';
}

/* Waits for bytes until the time is up: how many were read, 0 at the end, or -1. */
static ssize_t read_until(int fd, char *data, size_t room, int64_t until)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int64_t left = until - clock_steady_ms();
	ssize_t n;

	if (left < 0 || poll(&p, 1, (int)left) == 0) {
		errno = ETIMEDOUT;
		return -1;
	}
	do
		n = read(fd, data, room);
	while (n < 0 && errno == EINTR);
	return n;
}

int event_read(int fd, struct hook_event *out, struct fault *f)
{
	const int64_t until = clock_steady_ms() + PATIENCE_MS;
	struct scan s = { .out = out };
	char data[65536];
	size_t all = 0;
	ssize_t n = 0;

	*out = (struct hook_event){ 0 };
	/* A broken event is read to its end as well: a client may fail where nobody reads.  One
	 * that is whole needs no end of the input, which some clients leave open. */
	while (!s.over && (n = read_until(fd, data, sizeof(data), until)) > 0 &&
	       all <= BYTES_MAX) {
		all += (size_t)n;
		for (ssize_t i = 0; i < n && !s.broken; i++)
			take(&s, data[i]);
	}
	if (n < 0)
		return fault_set(f, FAULT_IO, "", "the event cannot be read: %m");
	if (all > BYTES_MAX)
		return fault_set(f, FAULT_INVALID, "", "the event is larger than 64 MiB");
	if (s.broken || !s.over)
		return fault_set(f, FAULT_INVALID, "", "the event is no JSON object");
	if (!out->name[0])
		return fault_set(f, FAULT_INVALID, "/hook_event_name",
				 "the event does not say what it is");
	return 0;
}
