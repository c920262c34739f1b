#include "tests/size/size.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/lib/child.h"
#include "tests/lib/place.h"

enum {
	ANSWER_MS = 60000,
	SHOWN_MAX = 10000, /* usual limit of a result over MCP, in bytes (4 per token) */
	WIDE_MAX = 200000, /* a larger limit of a result over MCP, in bytes */
};

void said_release(struct said *s)
{
	json_decref(s->result);
	free(s->fault);
	*s = (struct said){ 0 };
}

static char *fault_of(const json_t *answer)
{
	return json_dumps(answer, JSON_COMPACT | JSON_ENCODE_ANY);
}

/* --- sockets ----------------------------------------------------------------------- */

static void ask_raw(struct scene *s, struct raw *raw, const struct op *op, json_t *args,
		    struct said *out)
{
	json_t *answer = raw_ask(
		raw, raw_call(++s->number, op->name, json_deep_copy(args)), ANSWER_MS);
	json_t *result = json_object_get(answer, "result");

	if (!answer)
		fail_msg("%s: no answer", op->name);
	if (result)
		out->result = json_incref(result);
	else
		out->fault = fault_of(answer);
	json_decref(answer);
}

static void ask_socket(struct scene *s, const struct op *op, json_t *args,
		       struct said *out)
{
	ask_raw(s, &s->socket, op, args, out);
}

static void ask_guest(struct scene *s, const struct op *op, json_t *args,
		      struct said *out)
{
	ask_raw(s, &s->guest, op, args, out);
}

/* --- without a host ------------------------------------------------------------------ */

static void ask_direct(struct scene *s, const struct op *op, json_t *args,
		       struct said *out)
{
	struct text text = { 0 };
	struct fault f = { 0 };

	if (client_call(s->direct, op, args, &text, &f) == 0) {
		if (text.len > FRAME_MAX - 1000)
			fail_msg("%s: %zu bytes", op->name, text.len);
		out->result = json_loadb(text.data, text.len, 0, NULL);
	} else
		out->fault = strdup(f.text);
	assert_true(out->result || out->fault);
	text_release(&text);
}

/* --- MCP ------------------------------------------------------------------------------ */

static json_t *mcp_line(struct scene *s)
{
	char data[65536], *end;
	json_t *line;
	ssize_t n;

	while (!s->heard.len || !(end = memchr(s->heard.data, '\n', s->heard.len))) {
		n = read(s->from_mcp, data, sizeof(data));
		if (n <= 0)
			fail_msg("MCP has gone");
		text_add(&s->heard, data, (size_t)n);
	}
	n = end - s->heard.data;
	line = json_loadb(s->heard.data, (size_t)n, 0, NULL);
	s->heard.len -= (size_t)n + 1;
	memmove(s->heard.data, end + 1, s->heard.len);
	assert_non_null(line);
	return line;
}

static void mcp_say(struct scene *s, json_t *json)
{
	char *line = json_dumps(json, JSON_COMPACT);
	size_t n = strlen(line), at = 0;

	line[n++] = '\n';
	while (at < n) {
		ssize_t put = write(s->to_mcp, line + at, n - at);

		assert_true(put > 0);
		at += (size_t)put;
	}
	free(line);
	json_decref(json);
}

static json_t *mcp_ask(struct scene *s, const char *method, json_t *params)
{
	int id = s->number;
	json_t *line;

	mcp_say(s, json_pack("{sssisssO}", "jsonrpc", "2.0", "id", id, "method", method,
			     "params", params));
	json_decref(params);
	while (json_integer_value(json_object_get(line = mcp_line(s), "id")) != id)
		json_decref(line);
	return line;
}

/* Whether the next call sets a larger max_result_tokens. Every eighth call has the usual limit.
 * With the usual limit in all calls, the test would read many thousands of small answers. */
static bool is_wide(const struct scene *s)
{
	return s->number % 8 != 0;
}

/* Returns the result's text, parsed as JSON. The text must be so short that clients show the
 * whole text to the model. */
static json_t *shown(const struct scene *s, const struct op *op, const json_t *result)
{
	const json_t *content = json_array_get(json_object_get(result, "content"), 0),
		     *text = json_object_get(content, "text");

	if (json_string_length(text) > (is_wide(s) ? WIDE_MAX : SHOWN_MAX))
		fail_msg("%s: %zu bytes over MCP", op->name, json_string_length(text));
	return json_loads(json_string_value(text), 0, NULL);
}

static void ask_mcp(struct scene *s, const struct op *op, json_t *args, struct said *out)
{
	json_t *own = json_deep_copy(args), *answer, *result;

	if (!op->tool) { /* no tool of MCP has this operation */
		json_decref(own);
		ask_socket(s, op, args, out);
		return;
	}
	s->number++;
	if (is_wide(s))
		json_object_set_new(own, "max_result_tokens", json_integer(WIDE_MAX / 4));
	if (op->action)
		json_object_set_new(own, "action", json_string(op->action));
	answer = mcp_ask(s, "tools/call",
			 json_pack("{ssso}", "name", op->tool, "arguments", own));
	result = json_object_get(answer, "result");
	if (result && !json_is_true(json_object_get(result, "isError")))
		out->result = shown(s, op, result);
	else
		out->fault = fault_of(answer);
	assert_true(out->result || out->fault);
	json_decref(answer);
}

static void mcp_open(struct scene *s)
{
	int in[2], out[2];

	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	s->mcp = fork();
	if (s->mcp == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		for (int fd = 3; fd < 64; fd++)
			close(fd);
		execl(cadre_path(), "cadre", "--home", s->home, "--team", "big", "--as",
		      "lead", "mcp", "--toolsets", "all", (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	s->to_mcp = in[1];
	s->from_mcp = out[0];
	s->number++;
	json_decref(mcp_ask(s, "initialize",
			    json_pack("{sss{}s{ssss}}", "protocolVersion", "2025-11-25",
				      "capabilities", "clientInfo", "name", "size",
				      "version", "0")));
}

/* --- all of them ------------------------------------------------------------------------ */

const struct door doors[DOORS] = {
	{ "socket", ask_socket, "w-1", "001" },
	{ "direct", ask_direct, "w-2", "002" },
	{ "mcp", ask_mcp, "w-3", "003" },
	{ "guest", ask_guest, "w-4", "004" },
};

static void greet(struct raw *raw, const char *path, const char *agent, bool as)
{
	json_t *hello = raw_hello("big", agent), *answer;

	if (!raw_dial(raw, path))
		fail_msg("cannot reach %s", path);
	if (!as)
		json_object_del(hello, "as");
	json_object_set_new(hello, "session", json_string(path));
	json_object_set_new(hello, "boot_id", json_string("size"));
	raw_say(raw, hello);
	answer = raw_hear(raw, ANSWER_MS);
	if (strcmp(json_string_value(json_object_get(answer, "type")), "Hello") != 0)
		fail_msg("%s: %s", path, fault_of(answer));
	json_decref(answer);
}

/* Makes the lead's workspace, as the operator. */
static void make_place(struct scene *s)
{
	json_t *args = json_pack("{ssss}", "team", "big", "agent", "lead");
	struct said said = { 0 };
	struct raw operator;

	greet(&operator, s->found.socket, NULL, true);
	ask_raw(s, &operator, op_find("workspace.create"), args, &said);
	if (!said.result)
		fail_msg("%s", said.fault);
	said_release(&said);
	json_decref(args);
	raw_hang_up(&operator);
}

/* Waits until the guest can run commands, and connects to the guest's socket `door.sock`. */
static void guest_open(struct scene *s)
{
	json_t *args = json_pack("{ssss}", "workspace", "big/lead", "command", "true");
	struct said said = { 0 };
	char path[160];

	for (int n = 0; n < 300; n++) {
		said_release(&said);
		ask_socket(s, op_find("workspace.exec"), args, &said);
		if (said.result)
			break;
		pause_for(100);
	}
	if (!said.result)
		fail_msg("%s", said.fault);
	snprintf(path, sizeof(path), "%s/w1/door.sock", s->found.run);
	greet(&s->guest, path, "lead", false);
	said_release(&said);
	json_decref(args);
}

void doors_open(struct scene *s)
{
	const struct client_options o = {
		.home = &s->found,
		.direct = true,
		.identity = { .level = WHO_OPERATOR,
			      .team = "big",
			      .agent = "lead",
			      .proven = true,
			      .as = true,
			      .session = "direct" },
	};
	struct fault f = { 0 };

	greet(&s->socket, s->found.socket, "lead", true);
	if (client_open(&s->direct, &o, &f))
		fail_msg("%s", f.text);
	mcp_open(s);
	make_place(s);
	guest_open(s);
}

void doors_close(struct scene *s)
{
	raw_hang_up(&s->socket);
	raw_hang_up(&s->guest);
	client_close(s->direct);
	close(s->to_mcp);
	close(s->from_mcp);
	text_release(&s->heard);
}
