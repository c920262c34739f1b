#include "core/turn/runner_client.h"

#include <stdio.h>
#include <string.h>

enum {
	LINE_MOST = 4 << 20, /* the most bytes of a line, as in a frame */
	ODD_MOST = 64 << 10, /* maximum number of bytes of a line of broken JSON that is
				kept */
};

struct runner_client {
	const char *name;
	/* The client's command line consists of `before`, the words that a runner adds to the
	 * client's name, and `after`. */
	const char *before, *after;
	void (*read)(const json_t *line, struct runner_told *told);
};

/* --- contents of lines --------------------------------------------------------------- */

/* The maximum of the type `amount` (schema/types.op). A larger amount counts as the maximum. */
static const int64_t amount_most = 1000000000000;

static int64_t amount(double x)
{
	return x >= (double)amount_most ? amount_most : x > 0 ? (int64_t)x : 0;
}

static void runner_client_add(int64_t *sum, int64_t n)
{
	*sum = *sum < amount_most - n ? *sum + n : amount_most;
}

static int64_t runner_client_number_at(const json_t *o, const char *name)
{
	return amount(json_number_value(json_object_get(o, name)));
}

static bool is(const json_t *o, const char *name, const char *value)
{
	const char *s = json_find_text(o, name);

	return s && strcmp(s, value) == 0;
}

static void runner_client_say(struct runner_told *told, const char *s)
{
	size_t n = s ? strlen(s) : 0;

	text_add(&told->text, s ? s : "", n);
	if (n && s[n - 1] != '\n')
		text_add(&told->text, "\n", 1);
}

/* Stores the session of the client. A session's id is used in shell commands, so only
 * characters that have no meaning for the shell are accepted. */
static void go_on_with(struct runner_told *told, const char *id)
{
	static const char good[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t n = id ? strlen(id) : 0;

	if (n && n < sizeof(told->session) && strspn(id, good) == n && *id != '-')
		memcpy(told->session, id, n + 1);
}

static int64_t micros(const json_t *cost)
{
	return amount(json_number_value(cost) * 1e6 + 0.5);
}

/* Adds the text of an error to the output, and notes whether the text is about a limit. */
static void say_error(struct runner_told *told, const char *s)
{
	runner_client_say(told, s);
	told->limited |= runner_client_limit(s);
}

bool runner_client_limit(const char *error)
{
	static const char *const said[] = {
		"usage limit",   "rate limit",   "hit your limit",  "daily quota",
		"current quota", "quota metric", "check your plan", "too many requests",
	};

	for (size_t i = 0; error && i < sizeof(said) / sizeof(*said); i++)
		if (strcasestr(error, said[i]))
			return true;
	return false;
}

/* --- clients ------------------------------------------------------------------------- */

/* Whether a version is major.minor.patch or later. */
static bool is_since(const char *version, int major, int minor, int patch)
{
	int a = 0, b = 0, c = 0;

	if (!version || sscanf(version, "%d.%d.%d", &a, &b, &c) != 3)
		return false;
	return a != major ? a > major : b != minor ? b > minor : c >= patch;
}

static void read_claude(const json_t *line, struct runner_told *told)
{
	const json_t *usage = json_object_get(line, "usage"), *part;
	const json_t *limit = json_object_get(line, "rate_limit_info");
	size_t i;

	go_on_with(told, json_find_text(line, "session_id"));
	told->whole_cost |=
		is_since(json_find_text(line, "claude_code_version"), 2, 1, 277);
	if (is(line, "type", "assistant"))
		json_array_foreach(json_object_get(json_object_get(line, "message"),
						   "content"),
				   i, part)
			if (is(part, "type", "text"))
				runner_client_say(told, json_find_text(part, "text"));
	if (is(line, "type", "rate_limit_event")) {
		told->limited = is(limit, "status", "rejected");
		told->limited_until = runner_client_number_at(limit, "resetsAt") * 1000;
	}
	if (!is(line, "type", "result"))
		return;
	if (json_is_true(json_object_get(line, "is_error")))
		told->limited |= runner_client_limit(json_find_text(line, "result"));
	told->tokens_in = runner_client_number_at(usage, "input_tokens");
	runner_client_add(&told->tokens_in,
			  runner_client_number_at(usage, "cache_creation_input_tokens"));
	runner_client_add(&told->tokens_in,
			  runner_client_number_at(usage, "cache_read_input_tokens"));
	told->tokens_out = runner_client_number_at(usage, "output_tokens");
	told->cost = micros(json_object_get(line, "total_cost_usd"));
}

static void read_codex(const json_t *line, struct runner_told *told)
{
	const json_t *item = json_object_get(line, "item");
	const json_t *usage = json_object_get(line, "usage");

	go_on_with(told, json_find_text(line, "thread_id"));
	told->whole_tokens = true;
	if (is(line, "type", "item.completed") && is(item, "type", "agent_message"))
		runner_client_say(told, json_find_text(item, "text"));
	if (is(line, "type", "error") || is(line, "type", "turn.failed"))
		say_error(told, json_find_text(line, "message")
					? json_find_text(line, "message")
					: json_find_text(json_object_get(line, "error"),
							 "message"));
	if (!is(line, "type", "turn.completed"))
		return;
	told->tokens_in = runner_client_number_at(usage, "input_tokens");
	told->tokens_out = runner_client_number_at(usage, "output_tokens");
}

static void read_gemini(const json_t *line, struct runner_told *told)
{
	const json_t *stats = json_object_get(line, "stats");
	const char *content = json_find_text(line, "content");

	go_on_with(told, json_find_text(line, "session_id"));
	/* This client sends its text in pieces that are not whole lines. */
	if (is(line, "type", "message") && is(line, "role", "assistant") && content)
		text_add(&told->text, content, strlen(content));
	if (is(line, "type", "error"))
		say_error(told, json_find_text(line, "message"));
	if (!is(line, "type", "result"))
		return;
	if (is(line, "status", "error"))
		say_error(told,
			  json_find_text(json_object_get(line, "error"), "message"));
	runner_client_say(told, "\n");
	told->tokens_in = runner_client_number_at(stats, "input_tokens");
	told->tokens_out = runner_client_number_at(stats, "output_tokens");
}

static void read_opencode(const json_t *line, struct runner_told *told)
{
	const json_t *part = json_object_get(line, "part");
	const json_t *tokens = json_object_get(part, "tokens");
	const json_t *cache = json_object_get(tokens, "cache");

	go_on_with(told, json_find_text(line, "sessionID"));
	if (is(line, "type", "text"))
		runner_client_say(told, json_find_text(part, "text"));
	if (is(line, "type", "error")) {
		const json_t *data =
			json_object_get(json_object_get(line, "error"), "data");

		say_error(told, json_find_text(data, "message"));
		told->limited |= runner_client_number_at(data, "statusCode") == 429;
	}
	if (!is(line, "type", "step_finish"))
		return;
	runner_client_add(&told->tokens_in, runner_client_number_at(tokens, "input"));
	runner_client_add(&told->tokens_in, runner_client_number_at(cache, "read"));
	runner_client_add(&told->tokens_in, runner_client_number_at(cache, "write"));
	runner_client_add(&told->tokens_out, runner_client_number_at(tokens, "output"));
	runner_client_add(&told->tokens_out,
			  runner_client_number_at(tokens, "reasoning"));
	runner_client_add(&told->cost, micros(json_object_get(part, "cost")));
}

#define ENV_NAMES                                                          \
	"\"CADRE_SOCKET\",\"CADRE_TEAM\",\"CADRE_AGENT\",\"CADRE_TOKEN\"," \
	"\"CADRE_WORKSPACE\""

static const struct runner_client clients[] = {
	{ .name = "claude",
	  .before = "exec claude -p --output-format stream-json --verbose "
		    "--mcp-config \"$CADRE_MCP_CONFIG\" --allowedTools mcp__cadre "
		    "${CADRE_SESSION:+--resume \"$CADRE_SESSION\"}",
	  .after = "",
	  .read = read_claude },
	{ .name = "codex",
	  .before = "exec codex exec ${CADRE_SESSION:+resume} --json "
		    "--skip-git-repo-check -c \"mcp_servers.cadre.command="
		    "'$CADRE_PROGRAM'\" -c 'mcp_servers.cadre.args=[\"mcp\"]' "
		    "-c 'mcp_servers.cadre.default_tools_approval_mode=\"approve\"' "
		    "-c 'mcp_servers.cadre.env_vars=[" ENV_NAMES "]'",
	  .after = "${CADRE_SESSION:+\"$CADRE_SESSION\"} -",
	  .read = read_codex },
	{ .name = "gemini",
	  .before = "GEMINI_CLI_SYSTEM_SETTINGS_PATH=\"$CADRE_MCP_CONFIG\" exec gemini "
		    "-o stream-json "
		    "${CADRE_SESSION:+--resume \"$CADRE_SESSION\"}",
	  .after = "",
	  .read = read_gemini },
	{ .name = "opencode",
	  .before =
		  "OPENCODE_CONFIG_CONTENT='{\"mcp\":{\"cadre\":{\"type\":\"local\","
		  "\"command\":[\"'\"$CADRE_PROGRAM\"'\",\"mcp\"]}}}' exec opencode run "
		  "--format json ${CADRE_SESSION:+-s \"$CADRE_SESSION\"}",
	  .after = "",
	  .read = read_opencode },
};

const struct runner_client *runner_client_of(const char *runner)
{
	for (size_t i = 0; i < sizeof(clients) / sizeof(*clients); i++) {
		size_t n = strlen(clients[i].name);

		if (strncmp(runner, clients[i].name, n) == 0 &&
		    (runner[n] == '\0' || runner[n] == ' '))
			return &clients[i];
	}
	return NULL;
}

const char *runner_client_name(const char *runner)
{
	return runner_client_of(runner)->name;
}

const char *runner_command(const char *runner, struct arena *a)
{
	const struct runner_client *c = runner_client_of(runner);

	return c ? arena_printf(a, "%s%s %s", c->before, runner + strlen(c->name),
				c->after)
		 : runner;
}

static void runner_client_pass_over(size_t len, struct runner_told *told)
{
	text_addf(&told->text, "[cadre: a line of %zu bytes was left out]\n", len);
}

static void runner_client_read_line(const struct runner_client *c, const char *line,
				    size_t len, struct runner_told *told)
{
	json_error_t error;
	bool object = len && *line == '{';
	json_t *json = object ? json_take(line, len, 0, &error) : NULL;

	if (json) {
		c->read(json, told);
	} else if (object && len > ODD_MOST) {
		runner_client_pass_over(len, told);
	} else if (len) {
		text_add(&told->text, line, len);
		text_add(&told->text, "\n", 1);
	}
	json_decref(json);
}

/* Takes a part of a line. If the line is too long, only its bytes are counted. */
static void runner_client_take_part(const char *s, size_t len, struct runner_told *told)
{
	if (!told->passed && told->line.len + len <= LINE_MOST) {
		text_add(&told->line, s, len);
		return;
	}
	told->passed += told->line.len + len;
	text_release(&told->line);
}

void runner_client_end(const struct runner_client *c, struct runner_told *told)
{
	if (told->passed)
		runner_client_pass_over(told->passed, told);
	else
		runner_client_read_line(c, told->line.data, told->line.len, told);
	told->line.len = told->passed = 0;
}

void runner_client_take(const struct runner_client *c, const char *s, size_t len,
			struct runner_told *told)
{
	const char *end;

	if (!c) {
		text_add(&told->text, s, len);
		return;
	}
	for (; (end = memchr(s, '\n', len)); len -= (size_t)(end + 1 - s), s = end + 1) {
		runner_client_take_part(s, (size_t)(end - s), told);
		runner_client_end(c, told);
	}
	runner_client_take_part(s, len, told);
}

void runner_told_release(struct runner_told *told)
{
	text_release(&told->text);
	text_release(&told->line);
}
