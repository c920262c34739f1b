/*
 * rpc - any bytes, as lines that the MCP door reads.
 *
 * The test replaces the door's client with a client that opens no state. The replacement
 * decodes the arguments as the real client does, and gives fixed answers. Calls that wait are
 * parked until a later step. For any input each line of output is one whole JSON message.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/client/client.h"
#include "mcp/mcp.h"
#include "mcp/rpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* --- a client that opens nothing ------------------------------------------------ */

enum { PARKED_MAX = 16 };

struct parked {
	int64_t number; /* 0: this place is free */
	const struct op *op;
	client_done *done;
	void *arg;
};

struct client {
	int64_t last;
	struct parked parked[PARKED_MAX];
};

static const struct {
	const char *op, *result;
} answers[] = {
	{ "team.list", "{\"teams\":[{\"name\":\"alpha\"},{\"name\":\"beta\"}]}" },
	{ "agent.list", "{\"agents\":[{\"name\":\"bob\"}]}" },
	{ "task.list", "{\"tasks\":[{\"id\":\"001\",\"epoch\":3,"
		       "\"lease_until\":\"2026-11-21T08:00:00.000Z\"}]}" },
	{ "event.list", "{\"events\":[{\"event\":\"task.noted\",\"subject\":\"001\"},"
			"{\"event\":\"message.sent\",\"target\":\"bob\"}],\"next\":7}" },
};

static const char *answer_of(const struct op *op)
{
	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++)
		if (strcmp(answers[i].op, op->name) == 0)
			return answers[i].result;
	return "{\"text\":\"a \\\"quoted\\\" \\u00fc\"}";
}

int client_open(struct client **out, const struct client_options *o, struct fault *f)
{
	(void)o, (void)f;
	*out = calloc(1, sizeof(**out));
	assert(*out);
	return 0;
}

void client_close(struct client *c)
{
	free(c);
}

static int check(const struct op *op, json_t *args, struct fault *f)
{
	struct arena arena = { 0 };
	void *in = arena_alloc(&arena, op->in->size ? op->in->size : 1);
	int rc = op_decode(op->in, args, in, DECODE_STRICT, &arena, f);

	arena_release(&arena);
	return rc;
}

static bool park(struct client *c, struct parked p)
{
	for (int i = 0; i < PARKED_MAX; i++)
		if (!c->parked[i].number) {
			c->parked[i] = p;
			return true;
		}
	return false;
}

void client_form(struct client *c, struct form form)
{
	(void)c, (void)form;
}

int64_t client_start(struct client *c, const struct op *op, json_t *args,
		     client_done *done, void *arg)
{
	struct parked p = { ++c->last, op, done, arg };
	struct fault f = { 0 };

	if (check(op, args, &f)) {
		done(arg, NULL, &f);
		return 0;
	}
	if ((op->wait || op->flags & OP_WRITE) && park(c, p))
		return p.number;
	done(arg, answer_of(op), NULL);
	return 0;
}

void client_cancel(struct client *c, int64_t number)
{
	for (int i = 0; i < PARKED_MAX; i++)
		if (c->parked[i].number == number)
			c->parked[i].number = 0;
}

void client_become(struct client *c, const struct identity *who)
{
	(void)c, (void)who;
}

void client_act_as(struct client *c, const struct identity *who)
{
	(void)c, (void)who;
}

int64_t client_telling(const struct client *c)
{
	return c->last;
}

void client_settle(struct client *c, int64_t number, bool arrived)
{
	(void)c, (void)number, (void)arrived;
}

void client_key(char out[37])
{
	snprintf(out, 37, "00000000-0000-7000-8000-000000000000");
}

int client_fd(const struct client *c)
{
	(void)c;
	return -1;
}

int client_timeout(const struct client *c)
{
	(void)c;
	return -1;
}

/* Answers the first parked call. Every third call gets a fault. */
void client_step(struct client *c)
{
	struct fault f = { 0 };

	for (int i = 0; i < PARKED_MAX; i++) {
		struct parked p = c->parked[i];

		if (!p.number)
			continue;
		c->parked[i].number = 0;
		if (p.number % 3 == 0) {
			fault_set(&f, FAULT_NOT_FOUND, "/team", "no team");
			p.done(p.arg, NULL, &f);
		} else {
			p.done(p.arg, answer_of(p.op), NULL);
		}
		return;
	}
}

/* --- the door --------------------------------------------------------------------- */

static void hold_to_json(void *arg, const struct mcp_message *message)
{
	const char *text = message->text;
	json_t *json = json_loadb(text, message->len, JSON_ALLOW_NUL, NULL);

	(void)arg;
	assert(json && memchr(text, '\n', message->len) == text + message->len - 1);
	json_decref(json);
}

static void take_line(struct mcp *m, enum line got, const char *line, size_t len)
{
	if (got == LINE_TAKEN)
		mcp_handle(m, line, len, NULL);
	else
		mcp_refuse_long(m, NULL);
	if (len % 3 == 0)
		mcp_step(m);
	mcp_timeout(m);
}

static void feed(struct mcp *m, const uint8_t *data, size_t size)
{
	struct lines in = { 0 };
	int ends[2];
	char *line;
	size_t len;
	enum line got;

	if (pipe(ends) || write(ends[1], data, size) != (ssize_t)size)
		abort();
	close(ends[1]);
	while (!in.ended) {
		bool fine = lines_read(&in, ends[0]);

		assert(fine);
		while ((got = lines_next(&in, &line, &len)))
			take_line(m, got, line, len);
	}
	close(ends[0]);
	lines_release(&in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char hello[] =
		"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\","
		"\"params\":{\"protocolVersion\":\"2025-03-26\"}}";
	static struct home home = {
		.identity = { .level = WHO_OPERATOR, .team = "alpha", .agent = "bob" }
	};
	struct mcp_options o = { .home = &home, .toolsets = "all", .send = hold_to_json };
	struct fault f = { 0 };
	struct mcp *m;

	if (size < 1 || size > 60000)
		return -1;
	if (mcp_open(&m, &o, &f))
		abort();
	if (data[0] & 1)
		mcp_handle(m, hello, sizeof(hello) - 1, NULL);
	feed(m, data + 1, size - 1);
	mcp_end(m);
	for (int i = 0; i < PARKED_MAX && !mcp_idle(m); i++)
		mcp_step(m);
	mcp_close(m);
	return 0;
}
