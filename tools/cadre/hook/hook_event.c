/*
 * hook_event - reads the event that a client gives to its hook, in constant memory.
 *
 * An event may hold the whole answer of a tool. The hook reads only the texts at the top level
 * of the event, the first folder in the list `workspace_roots`, and the names of files in a
 * tool's arguments. A file's name is itself an argument, or is part of a heading in a patch.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "tools/cadre/hook/hook.h"

/* TOP: the number of nesting depths whose state is stored. Keys are read at the depths 1 and 2.
 * Depth 0 is outside the object, and has no keys. */
enum { BYTES_MAX = 64 << 20, PATIENCE_MS = 2000, TOP = 3 };

struct scan {
	struct hook_event *out;
	size_t depth;
	bool begun, over, broken;
	bool quoted, escaped; /* in a text; directly behind a backslash */
	bool value[TOP]; /* for each depth: the colon behind the last key was read */
	char key[TOP][32]; /* for each depth: the last key; "": the key is too long */
	bool patch; /* the text is a patch, and `word` holds one line of it */
	char word[sizeof(((struct hook_event *)0)->cwd)]; /* JSON text, without quotes */
	size_t n; /* bytes in `word`; a text that does not fit is skipped */
};

static bool in_arguments(const struct scan *s)
{
	return s->depth == 2 && !strcmp(s->key[1], "tool_input");
}

static bool in_folders(const struct scan *s)
{
	return s->depth == 2 && !strcmp(s->key[1], "workspace_roots");
}

static bool is_among(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (!strcmp(word, *words))
			return true;
	return false;
}

/* Whether a JSON escape for one half of a surrogate pair begins at `s`. */
static bool is_half(const char *s)
{
	return s[0] == '\\' && s[1] == 'u' && (s[2] | 32) == 'd' && s[3] > '7';
}

/* The text in `word`, or NULL if `word` holds no text. With `mends`, U+FFFD replaces each
 * sequence that is no character. If the name of a file has such a sequence, clients also write
 * U+FFFD in place of the sequence. */
static json_t *word_text(struct scan *s, bool mends)
{
	struct text mended = { 0 };
	json_t *text;
	size_t len;

	memmove(s->word + 1, s->word, s->n);
	s->word[0] = s->word[s->n + 1] = '"';
	text = json_loadb(s->word, s->n + 2, JSON_DECODE_ANY, NULL);
	for (const char *at = s->word; !text && mends && at < s->word + s->n + 2;
	     at += len) {
		const size_t wide = text_wide(at);

		len = is_half(at) ? 6 : *at == '\\' ? 2 : wide ? wide : 1;
		if (is_half(at) || (len == 1 && *at & 0x80))
			text_addf(&mended, "\xef\xbf\xbd");
		else
			text_add(&mended, at, len);
	}
	if (mended.len)
		text = json_loadb(mended.data, mended.len, JSON_DECODE_ANY, NULL);
	text_release(&mended);
	return text;
}

/* Adds a file that the tool is about to write. Takes over the reference to `name`. */
static void keep_path(struct scan *s, json_t *name)
{
	if (name && json_array_size(s->out->paths) < HOOK_FILES)
		json_array_append(s->out->paths, name);
	json_decref(name);
}

/* Copies a name without the blanks before and behind the name. */
static json_t *hook_event_trim(const char *name)
{
	const char *at = name = text_past_blanks(name), *end = name;

	while (*at) {
		const size_t blank = text_blank_len(at);

		at += blank ? blank : 1;
		end = blank ? end : at;
	}
	return json_stringn(name, (size_t)(end - name));
}

/* Adds the file that a line of a patch names. Blanks around the heading and around the name are
 * ignored, as Codex ignores them. */
static void keep_heading(struct scan *s)
{
	static const char *const headings[] = { "*** Add File: ", "*** Update File: ",
						"*** Delete File: ", "*** Move to: " };
	json_t *text;
	const char *line;

	if (s->n > sizeof(s->word) - 2 || !memmem(s->word, s->n, "*** ", 4) ||
	    !(text = word_text(s, true)))
		return;
	line = text_past_blanks(json_string_value(text));
	for (size_t i = 0; i < sizeof(headings) / sizeof(*headings); i++)
		if (!strncmp(line, headings[i], strlen(headings[i])))
			keep_path(s, hook_event_trim(line + strlen(headings[i])));
	json_decref(text);
}

/* Stores a value if the value's key names a part of the event that is still empty. Adds the
 * name of a file to the event's paths. */
static void keep_value(struct scan *s)
{
	static const char *const files[] = { "file_path", "notebook_path", "filePath",
					     NULL };
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
	json_t *text;
	size_t i = 0;

	if (s->n > sizeof(s->word) - 2 ||
	    (s->depth == 2 && !in_arguments(s) && !in_folders(s)))
		return;
	if (in_arguments(s)) {
		if (is_among(s->key[2], files))
			keep_path(s, word_text(s, true));
		return;
	}
	while (i < sizeof(all) / sizeof(*all) &&
	       (strcmp(s->key[1], all[i].key) != 0 || all[i].place[0]))
		i++;
	text = i < sizeof(all) / sizeof(*all) ? word_text(s, false) : NULL;
	if (text && json_string_length(text) < all[i].room)
		memcpy(all[i].place, json_string_value(text),
		       json_string_length(text) + 1);
	json_decref(text);
}

static void end_text(struct scan *s)
{
	s->quoted = false;
	if (s->depth >= TOP)
		return;
	if (s->patch)
		keep_heading(s);
	else if (s->value[s->depth] || in_folders(s))
		keep_value(s);
	else if (s->n < sizeof(s->key[0]) && (s->depth == 1 || in_arguments(s)))
		snprintf(s->key[s->depth], sizeof(s->key[0]), "%.*s", (int)s->n, s->word);
}

static void in_text(struct scan *s, char c)
{
	if (c == '"' && !s->escaped) {
		end_text(s);
		return;
	}
	if (s->patch && s->escaped && c == 'n') { /* the line of the patch ends here */
		s->n -= s->n < sizeof(s->word);
		keep_heading(s);
		s->n = 0;
		s->escaped = false;
		return;
	}
	s->escaped = c == '\\' && !s->escaped;
	if (s->n < sizeof(s->word))
		s->word[s->n++] = c;
}

static void begin_text(struct scan *s)
{
	static const char *const patches[] = { "command", "patchText", NULL };

	s->quoted = true;
	s->n = 0;
	s->patch = in_arguments(s) && s->value[2] && is_among(s->key[2], patches);
	if ((s->depth == 1 || in_arguments(s)) && !s->value[s->depth])
		s->key[s->depth][0] = '\0';
}

static void hook_event_take(struct scan *s, char c)
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
	else if (c == '}' || c == ']')
		s->value[TOP - 1] = true, s->over = --s->depth == 0;
	else if (c == '{' || c == '[')
		s->depth++;
	if (c && s->depth < TOP && strchr("{[:,", c))
		s->value[s->depth] = c == ':';
}

/* Waits for bytes until the time `until`. Returns the number of bytes read, 0 at the end of
 * input, or -1. */
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

void event_release(struct hook_event *e)
{
	json_decref(e->paths);
	e->paths = NULL;
}

int event_read(int fd, struct hook_event *out, struct fault *f)
{
	const int64_t until = clock_steady_ms() + PATIENCE_MS;
	struct scan s = { .out = out };
	char data[65536];
	size_t all = 0;
	ssize_t n = 0;

	*out = (struct hook_event){ .paths = json_array() };
	/* A broken event is read to its end too, because some clients fail if no process reads
	 * their output to the end. After a complete event nothing more is read, because some
	 * clients leave the input open. */
	while (!s.over && (n = read_until(fd, data, sizeof(data), until)) > 0 &&
	       all <= BYTES_MAX) {
		all += (size_t)n;
		for (ssize_t i = 0; i < n && !s.broken; i++)
			hook_event_take(&s, data[i]);
	}
	if (n < 0)
		return fault_set(f, FAULT_IO, "", "the event cannot be read: %m");
	if (all > BYTES_MAX)
		return fault_set(f, FAULT_INVALID, "", "the event is larger than 64 MiB");
	if (s.broken || !s.over)
		return fault_set(f, FAULT_INVALID, "", "the event is not a JSON object");
	if (!out->name[0])
		return fault_set(f, FAULT_INVALID, "/hook_event_name",
				 "the event has no name");
	return 0;
}

/*
 * For each client, the events at which cadre acts, and the form of the answer that the client
 * accepts.
 *
 * docs/clients.md gives the source of each entry in the tables below. Events without an entry
 * are ignored.
 */

#define CONTEXT "{\"hookSpecificOutput\":{\"hookEventName\":@,\"additionalContext\":$}}"

/* Codex uses the same forms as Claude Code. */
static const struct hook_rule claude[] = {
	{ "SessionStart", HOOK_START, CONTEXT },
	{ "UserPromptSubmit", HOOK_ALL, CONTEXT },
	{ "PostToolUse", HOOK_URGENT, CONTEXT },
	{ "PreToolUse", HOOK_TOOL,
	  "{\"hookSpecificOutput\":{\"hookEventName\":@,\"permissionDecision\":\"deny\","
	  "\"permissionDecisionReason\":$}}" },
	{ "Stop", HOOK_STOP, "{\"decision\":\"block\",\"reason\":$}" },
	{ "SessionEnd", HOOK_END, "" },
	{ NULL, 0, NULL },
};

static const struct hook_rule gemini[] = {
	{ "SessionStart", HOOK_START, CONTEXT },
	{ "BeforeAgent", HOOK_ALL, CONTEXT },
	{ "AfterTool", HOOK_URGENT, CONTEXT },
	{ "BeforeTool", HOOK_TOOL, "{\"decision\":\"deny\",\"reason\":$}" },
	{ "AfterAgent", HOOK_STOP, "{\"decision\":\"deny\",\"reason\":$}" },
	{ "SessionEnd", HOOK_END, "" },
	{ NULL, 0, NULL },
};

/* Cursor takes no context at a prompt, so cadre gives the news after the next tool. */
static const struct hook_rule cursor[] = {
	{ "sessionStart", HOOK_START, "{\"additional_context\":$}" },
	{ "postToolUse", HOOK_ALL, "{\"additional_context\":$}" },
	{ "preToolUse", HOOK_TOOL,
	  "{\"permission\":\"deny\",\"user_message\":$,\"agent_message\":$}" },
	{ "stop", HOOK_STOP, "{\"followup_message\":$}" },
	{ NULL, 0, NULL },
};

/* plugin.c sends events under these names. */
static const struct hook_rule opencode[] = {
	{ "session.start", HOOK_START, "{\"context\":$}" },
	{ "chat.message", HOOK_ALL, "{\"context\":$}" },
	{ "tool.execute.after", HOOK_URGENT, "{\"context\":$}" },
	{ "tool.execute.before", HOOK_TOOL, "{\"deny\":$}" },
	{ "session.idle", HOOK_NUDGE, "{\"prompt\":$}" },
	{ NULL, 0, NULL },
};

static const char *const claude_writes[] = { "Edit", "MultiEdit", "NotebookEdit", "Write",
					     NULL };
static const char *const codex_writes[] = { "apply_patch", NULL };
static const char *const gemini_writes[] = { "replace", "write_file", NULL };
static const char *const cursor_writes[] = { "Delete", "Edit", "Write", NULL };
static const char *const opencode_writes[] = { "apply_patch", "edit", "write", NULL };

/* The maximum number of tokens that a client gets. Claude Code passes on a text of up to 10,000
 * characters, and only the first 2,000 characters of a longer text. Codex passes on 2,500
 * tokens. CLAUDE_TOKENS and CODEX_TOKENS are lower, to leave room for the additions of
 * text_add_said(). */
enum { CLAUDE_TOKENS = 2100, CODEX_TOKENS = 2100 };

const struct hook_client hook_clients[] = {
	{ "claude", "claude-code", claude, claude_writes, CLAUDE_TOKENS },
	{ "codex", NULL, claude, codex_writes, CODEX_TOKENS },
	{ "gemini", NULL, gemini, gemini_writes, 0 },
	{ "cursor", NULL, cursor, cursor_writes, 0 },
	{ "opencode", NULL, opencode, opencode_writes, 0 },
	{ NULL, NULL, NULL, NULL, 0 },
};

void hook_form_fill(struct text *out, const struct hook_rule *rule, const char *text)
{
	for (const char *s = rule->form; *s; s++)
		if (*s == '$')
			text_add_json(out, text);
		else if (*s == '@')
			text_add_json(out, rule->event);
		else
			text_add(out, s, 1);
	text_add(out, "\n", 1);
}
