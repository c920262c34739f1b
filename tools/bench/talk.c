/*
 * Messages of clients to the host: frames that are made once, in which only the key
 * or an id changes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "tools/bench/stage.h"

static const char zero_key[] = "00000000-0000-7000-8000-000000000000";

/* --- frames ----------------------------------------------------------------------- */

static size_t put_head(char *frame, size_t size)
{
	for (int i = 0; i < 4; i++)
		frame[i] = (char)(size >> (24 - 8 * i));
	return size + 4;
}

static size_t frame_whole(const char *data, size_t size)
{
	const unsigned char *h = (const unsigned char *)data;
	size_t n;

	if (size < 4)
		return 0;
	n = 4 + ((size_t)h[0] << 24 | (size_t)h[1] << 16 | (size_t)h[2] << 8 | h[3]);
	if (n > LOAD_IN)
		abort(); /* none of our answers is that large */
	return size >= n ? n : 0;
}

static void talk_put_hex(char *at, uint64_t v, int digits)
{
	for (int i = digits; i-- > 0; v >>= 4)
		at[i] = "0123456789abcdef"[v & 15];
}

/* Writes a key as clients make it: a UUIDv7 of now, or a UUIDv4. */
static void talk_put_key(struct speaker *s, char *at, bool ordered)
{
	uint64_t a = bench_random(&s->random), b = bench_random(&s->random);

	if (ordered)
		a = (uint64_t)clock_wall_ms() << 16 | 0x7000 | (a & 0xfff);
	else
		a = (a & ~UINT64_C(0xf000)) | 0x4000;
	b = (b & ~(UINT64_C(3) << 62)) | UINT64_C(1) << 63;
	talk_put_hex(at, a >> 32, 8);
	talk_put_hex(at + 9, a >> 16, 4);
	talk_put_hex(at + 14, a, 4);
	talk_put_hex(at + 19, b >> 48, 4);
	talk_put_hex(at + 24, b, 12);
}

/* --- joining ------------------------------------------------------------------------- */

static int join_as_agent(struct speaker *s)
{
	const struct talk *t = s->load->arg;
	char frame[512], in[2048];
	int fd = load_join(s->load->socket);
	size_t n = (size_t)snprintf(
		frame + 4, sizeof(frame) - 4,
		"{\"type\":\"Hello\",\"version\":\"0\",\"role\":\"client\","
		"\"boot_id\":\"\",\"team\":\"%s\",\"agent\":\"a%d\",\"%s\":%s%s%s}",
		t->team ? t->team : "t", s->number, t->tokens ? "token" : "as",
		t->tokens ? "\"" : "", t->tokens ? t->tokens[s->number] : "true",
		t->tokens ? "\"" : "");

	if (fd < 0)
		return -1;
	n = put_head(frame, n);
	if (load_write_all(fd, frame, n) ||
	    load_read_answer(fd, in, sizeof(in), frame_whole) < 0)
		return bench_fail("no Hello");
	return fd;
}

/* The send of a speaker, made at its first use. */
static void make_send(struct speaker *s, const char *to)
{
	const struct talk *t = s->load->arg;
	char *json, *body = xmalloc((size_t)t->body + 1);

	memset(body, 'x', (size_t)t->body);
	body[t->body] = '\0';
	json = xasprintf("....{\"type\":\"Call\",\"id\":1,\"op\":\"message.send\","
			 "\"args\":{\"to\":[\"%s\"],\"idempotency_key\":\"%s\","
			 "\"content\":\"%s\"}}",
			 to, zero_key, body);
	free(body);
	s->own = json;
	s->n_own = put_head(json, strlen(json) - 4);
	s->at = (size_t)(strstr(json + 4, zero_key) - json);
}

static void ask_send(struct speaker *s, const char *to)
{
	const struct talk *t = s->load->arg;

	if (!s->own)
		make_send(s, to);
	talk_put_key(s, s->own + s->at,
		     !t->random_keys || (bench_random(&s->random) >> 40 & 1));
	load_say(s, s->own, s->n_own);
}

/* A call whose arguments are few. */
static void ask_call(struct speaker *s, const char *op, const char *args)
{
	char frame[512];
	int n = snprintf(frame + 4, sizeof(frame) - 4,
			 "{\"type\":\"Call\",\"id\":1,\"op\":\"%s\",\"args\":%s}", op,
			 args);

	load_say(s, frame, put_head(frame, (size_t)n));
}

/* --- answers ----------------------------------------------------------------------------- */

static bool is_result(const char *data, size_t size)
{
	static const char good[] = "{\"type\":\"CallResult\"";

	return size > sizeof(good) + 3 && !memcmp(data + 4, good, sizeof(good) - 1);
}

static bool heard_result(struct speaker *s, int step, const char *data, size_t size)
{
	(void)s;
	(void)step;
	return is_result(data, size);
}

/* Keeps what stands behind `name` up to the next quote. */
static bool talk_take_text(struct speaker *s, const char *data, size_t size,
			   const char *name)
{
	const char *at = memmem(data, size, name, strlen(name)), *end;

	if (!at)
		return false;
	at += strlen(name);
	end = memchr(at, '"', size - (size_t)(at - data));
	if (!end || end - at >= LOAD_ID)
		return false;
	s->n_id = (size_t)(end - at);
	memcpy(s->id, at, s->n_id);
	s->id[s->n_id] = '\0';
	return true;
}

/* --- scripts -------------------------------------------------------------------------------- */

static void ask_neighbour(struct speaker *s, int step)
{
	char to[16];

	(void)step;
	snprintf(to, sizeof(to), "a%d", (s->number + 1) % s->load->clients);
	ask_send(s, to);
}

static void talk_ask_all(struct speaker *s, int step)
{
	(void)step;
	ask_send(s, "*");
}

static void talk_ask_cycle(struct speaker *s, int step)
{
	char args[128];

	if (step == 0) {
		snprintf(args, sizeof(args), "a%d", s->number);
		ask_send(s, args);
	} else if (step == 1) {
		ask_call(s, "message.receive", "{\"limit\":1}");
	} else {
		snprintf(args, sizeof(args), "{\"message_ids\":[\"%s\"]}", s->id);
		ask_call(s, "message.ack", args);
	}
}

static bool heard_cycle(struct speaker *s, int step, const char *data, size_t size)
{
	return is_result(data, size) &&
	       (step != 1 || talk_take_text(s, data, size, "\"message_id\":\""));
}

static void ask_claim(struct speaker *s, int step)
{
	char args[128];

	if (step == 0) {
		ask_call(s, "task.claim", "{}");
		return;
	}
	snprintf(args, sizeof(args), "{\"task\":\"%s\",\"epoch\":%ld}", s->id, s->epoch);
	ask_call(s, s->load->script == &script_claim ? "task.complete" : "task.release",
		 args);
}

static bool heard_claim(struct speaker *s, int step, const char *data, size_t size)
{
	static const char name[] = "\"epoch\":";
	const char *at;

	if (!is_result(data, size))
		return false;
	if (step != 0)
		return true;
	at = memmem(data, size, name, sizeof(name) - 1);
	if (!at || !talk_take_text(s, data, size, "\"id\":\""))
		return false;
	s->epoch = strtol(at + sizeof(name) - 1, NULL, 10);
	return true;
}

static void ask_same(struct speaker *s, int step)
{
	const struct talk *t = s->load->arg;

	(void)step;
	ask_call(s, t->op, t->args);
}

const struct script script_send = {
	.n_steps = 1,
	.join = join_as_agent,
	.ask = ask_neighbour,
	.whole = frame_whole,
	.heard = heard_result,
};
const struct script script_all = {
	.n_steps = 1,
	.join = join_as_agent,
	.ask = talk_ask_all,
	.whole = frame_whole,
	.heard = heard_result,
};
const struct script script_cycle = {
	.n_steps = 3,
	.join = join_as_agent,
	.ask = talk_ask_cycle,
	.whole = frame_whole,
	.heard = heard_cycle,
};
const struct script script_claim = {
	.n_steps = 2,
	.join = join_as_agent,
	.ask = ask_claim,
	.whole = frame_whole,
	.heard = heard_claim,
};
const struct script script_borrow = {
	.n_steps = 2,
	.join = join_as_agent,
	.ask = ask_claim,
	.whole = frame_whole,
	.heard = heard_claim,
};
const struct script script_same = {
	.n_steps = 1,
	.join = join_as_agent,
	.ask = ask_same,
	.whole = frame_whole,
	.heard = heard_result,
};
