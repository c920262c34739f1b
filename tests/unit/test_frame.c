/* The codec between hosts and guests: frames, messages, base64, and limits of size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/wire/base64.h"
#include "core/wire/frame.h"
#include "core/wire/wire.h"
#include "ops.gen.h"

/* --- frames --------------------------------------------------------------------- */

/* Feeds `data` to a reader in steps of `step` bytes. Returns the bodies of all frames that were
 * read, each in brackets. */
static char *feed(const char *data, size_t len, size_t step, struct fault *f)
{
	struct frame_reader r = { 0 };
	struct text out = { 0 };

	for (size_t at = 0; at < len && !f->code;) {
		size_t n = len - at < step ? len - at : step, used;
		int rc = frame_read(&r, data + at, n, &used, f);

		assert_true(used <= n);
		at += used;
		if (rc > 0)
			text_addf(&out, "[%.*s]", (int)r.size, r.body);
	}
	frame_release(&r);
	text_add(&out, "", 0);
	return out.data;
}

static void test_feed_in_pieces(void **state)
{
	static const char two[] = "\0\0\0\5hello\0\0\0\0\0\0\0\1x";

	(void)state;
	for (size_t step = 1; step < sizeof(two); step++) {
		struct fault f = { 0 };
		char *got = feed(two, sizeof(two) - 1, step, &f);

		assert_int_equal(f.code, 0);
		assert_string_equal(got, "[hello][][x]");
		free(got);
	}
}

static void test_sizes(void **state)
{
	static const struct {
		unsigned char head[4];
		bool good;
	} cases[] = {
		{ { 0, 0x40, 0, 0 }, true },
		{ { 0, 0x40, 0, 1 }, false },
		{ { 0xff, 0xff, 0xff, 0xff }, false },
		{ { 'G', 'E', 'T', ' ' }, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct frame_reader r = { 0 };
		struct fault f = { 0 };
		size_t used;
		int rc = frame_read(&r, (const char *)cases[i].head, 4, &used, &f);

		assert_int_equal(rc, cases[i].good ? 0 : FAULT_INVALID);
		assert_true(r.room <= 4096); /* the frame claims a larger size */
		f = (struct fault){ 0 };
		if (!cases[i].good)
			assert_int_equal(frame_read(&r, "x", 1, &used, &f),
					 FAULT_INVALID);
		frame_release(&r);
	}
}

static void test_write(void **state)
{
	struct text out = { 0 };
	struct fault f = { 0 };
	char *big = calloc(1, FRAME_MAX + 1);
	size_t start, used;
	struct frame_reader r = { 0 };

	(void)state;
	start = frame_open(&out);
	text_add(&out, "abc", 3);
	assert_int_equal(frame_close(&out, start, &f), 0);
	assert_memory_equal(out.data, "\0\0\0\3abc", 7);
	start = frame_open(&out);
	text_add(&out, big, FRAME_MAX + 1);
	assert_int_equal(frame_close(&out, start, &f), FAULT_INVALID);
	assert_int_equal(out.len, 7);
	start = frame_open(&out);
	text_add(&out, big, FRAME_MAX);
	f = (struct fault){ 0 };
	assert_int_equal(frame_close(&out, start, &f), 0);
	assert_int_equal(frame_read(&r, out.data + 7, out.len - 7, &used, &f), 1);
	assert_int_equal(r.size, FRAME_MAX);
	assert_int_equal(frame_read(&r, out.data, 7, &used, &f), 1);
	assert_true(r.room <= 64 << 10); /* the large buffer was freed */
	frame_release(&r);
	text_release(&out);
	free(big);
}

static uint32_t next(uint32_t *seed)
{
	return (*seed = *seed * 1664525 + 1013904223) >> 8;
}

/* Random bytes lead to a fault, or to a wait for more bytes. */
static void test_noise(void **state)
{
	uint32_t seed = 7;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		char noise[300];
		struct fault f = { 0 };

		for (size_t i = 0; i < sizeof(noise); i++)
			noise[i] = (char)(next(&seed) % (i % 3 ? 256 : 3));
		free(feed(noise, sizeof(noise), 1 + next(&seed) % 40, &f));
	}
}

/* --- messages --------------------------------------------------------------------- */

static int read_packet(struct packet *p, const char *json, struct fault *f)
{
	*f = (struct fault){ 0 };
	return packet_read(p, json, strlen(json), f);
}

static void test_decode(void **state)
{
	struct wire_exec exec = { 0 };
	struct arena a = { 0 };
	struct packet p;
	struct fault f;

	(void)state;
	assert_int_equal(read_packet(&p,
				     "{\"type\":\"Exec\",\"command\":\"ls\","
				     "\"args\":null,\"env\":{\"A\":\"b\"},"
				     "\"workdir\":null,\"later\":{},"
				     "\"id\":\"x\"}",
				     &f),
			 0);
	assert_int_equal(packet_belongs(&p, SIDE_HOST, WIRE_CONTROL, &f), 0);
	assert_int_equal(packet_decode(&p, &exec, &a, &f), 0);
	assert_string_equal(exec.command, "ls");
	assert_int_equal(exec.n_args, 0);
	assert_null(exec.workdir);
	assert_int_equal(exec.n_env, 1);
	assert_int_equal(exec.timeout_secs, 120);
	assert_true(packet_has(&p, "env"));
	assert_false(packet_has(&p, "workdir"));
	assert_int_equal(packet_belongs(&p, SIDE_HOST, WIRE_RELAY, &f), FAULT_INVALID);
	assert_non_null(strstr(f.text, "5000"));
	packet_release(&p);
	arena_release(&a);
}

static void test_bad_messages(void **state)
{
	static const char *const bad[] = {
		"", "[]", "{}", "{\"type\":null}", "{\"type\":\"\xff\"}", "{\"a\":1"
	};
	struct wire_exec exec = { 0 };
	struct arena a = { 0 };
	struct packet p;
	struct fault f;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(read_packet(&p, bad[i], &f), FAULT_INVALID);
		packet_release(&p);
	}
	assert_int_equal(read_packet(&p,
				     "{\"type\":\"Exec\",\"id\":4,"
				     "\"command\":\"a\\u0000\"}",
				     &f),
			 0);
	assert_int_equal(packet_decode(&p, &exec, &a, &f), FAULT_INVALID);
	assert_string_equal(f.where, "/command");
	assert_int_equal(json_integer_value(p.id), 4);
	packet_release(&p);
	assert_int_equal(read_packet(&p, "{\"type\":\"Nope\"}", &f), 0);
	assert_int_equal(packet_belongs(&p, SIDE_HOST, WIRE_CONTROL, &f), FAULT_INVALID);
	packet_release(&p);
	arena_release(&a);
}

static void expect_frame(struct text *out, const char *json)
{
	size_t n = strlen(json);

	assert_int_equal(out->len, n + 4);
	assert_memory_equal(out->data + 4, json, n);
	assert_int_equal((unsigned char)out->data[3], n & 255);
	text_release(out);
	*out = (struct text){ 0 };
}

static void test_encode(void **state)
{
	struct wire_pong pong = { .version = "1", .uptime_secs = 2 };
	json_t *id = json_string("a\"b");
	struct text out = { 0 };
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(wire_write(&out, "Pong", &pong, id, &f), 0);
	expect_frame(&out, "{\"type\":\"Pong\",\"id\":\"a\\\"b\",\"version\":"
			   "\"1\",\"uptime_secs\":2}");
	assert_int_equal(wire_write(&out, "Ok", NULL, NULL, &f), 0);
	expect_frame(&out, "{\"type\":\"Ok\"}");
	assert_int_equal(wire_write(&out, "Ok", &(struct wire_ok){ 0 }, id, &f), 0);
	expect_frame(&out, "{\"type\":\"Ok\",\"id\":\"a\\\"b\"}");
	json_decref(id);
}

static void expect_code(enum fault_code code, bool old, const char *name)
{
	struct fault why = { 0 }, back = { 0 };
	struct wire_error e = { 0 };
	struct arena a = { 0 };
	struct text out = { 0 };
	struct packet p;
	struct fault f = { 0 };

	fault_set(&why, code, "/x", "because");
	why.retry_after_ms = 5;
	wire_write_fault(&out, &why, old, NULL);
	assert_int_equal(packet_read(&p, out.data + 4, out.len - 4, &f), 0);
	assert_int_equal(packet_decode(&p, &e, &a, &f), 0);
	assert_string_equal(e.code, name);
	wire_fault(&e, &back);
	assert_string_equal(back.where, "/x");
	assert_string_equal(back.text, "because");
	assert_int_equal(back.retry_after_ms, 5);
	if (!old)
		assert_int_equal(back.code, code);
	packet_release(&p);
	text_release(&out);
	arena_release(&a);
}

static void test_errors(void **state)
{
	static const char *const of_old[] = {
		[FAULT_INDEX_INVALID] = "InvalidRequest",
		[FAULT_INDEX_NOT_FOUND] = "NotFound",
		[FAULT_INDEX_CONFLICT] = "InvalidRequest",
		[FAULT_INDEX_DENIED] = "PermissionDenied",
		[FAULT_INDEX_RATE_LIMITED] = "Internal",
		[FAULT_INDEX_EXHAUSTED] = "InvalidRequest",
		[FAULT_INDEX_UNAVAILABLE] = "Internal",
		[FAULT_INDEX_TIMEOUT] = "Timeout",
		[FAULT_INDEX_IO] = "IoError",
		[FAULT_INDEX_INTERNAL] = "Internal",
	};

	(void)state;
	for (int i = 0; i < FAULT_COUNT; i++) {
		enum fault_code code = (enum fault_code)(-1 - i);

		expect_code(code, false, fault_info(code)->wire);
		expect_code(code, true, of_old[i]);
	}
}

static void test_fit(void **state)
{
	static const struct {
		const char *text;
		size_t room, fits;
	} cases[] = {
		{ "hello", 5, 5 },      { "hello", 3, 3 },
		{ "", 0, 0 },           { "a\nb\1", 4, 3 },
		{ "\"\"", 3, 1 },       { "a\xc3\xa9z", 2, 1 },
		{ "a\xc3\xa9z", 3, 3 }, { "\xf0\x9f\x98\x80", 3, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t room = cases[i].room;

		assert_int_equal(text_json_fit(cases[i].text, strlen(cases[i].text),
					       &room),
				 cases[i].fits);
		assert_true(room <= cases[i].room);
	}
}

/* A file's content may be lifted out of a message before the message is parsed. Such content
 * reaches the struct in the same form as parsed content. */
static void test_lift(void **state)
{
	static const struct {
		const char *head, *tail;
		bool lifted;
	} cases[] = {
		{ "{\"type\":\"FileWrite\",\"path\":\"p\",\"content\":\"", "\"}", true },
		{ "{ \"content\" : \"", "\", \"type\":\"FileWrite\",\"path\":\"p\"}",
		  true },
		{ "{\"x\":{\"content\":\"",
		  "\"},\"type\":\"FileWrite\",\"path\":\"p\","
		  "\"content\":\"\"}",
		  false },
		{ "{\"x\\\"\":[\"{\"],\"type\":\"FileWrite\",\"path\":\"p\",\"content\":\"",
		  "\"}", true },
		{ "{\"type\":\"TeamMessage\",\"to\":\"p\",\"content\":\"", "\"}", false },
		{ "{\"type\":\"FileWrite\",\"path\":\"p\",\"content\":\"\\u0041", "\"}",
		  false },
	};
	const size_t size = 100000;
	char *a = malloc(size + 1);

	(void)state;
	memset(a, 'A', size);
	a[size] = '\0';
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct frame_reader r = { 0 };
		struct text t = { 0 };
		struct fault f = { 0 };
		struct arena arena = { 0 };
		struct packet p;
		size_t start = frame_open(&t), used;

		text_addf(&t, "%s%s%s", cases[i].head, a, cases[i].tail);
		frame_close(&t, start, &f);
		assert_int_equal(frame_read(&r, t.data, t.len, &used, &f), 1);
		assert_int_equal(packet_take(&p, &r, &f), 0);
		assert_int_equal(p.lifted != NULL, cases[i].lifted);
		if (!strcmp(p.type, "FileWrite")) {
			struct wire_file_write m = { 0 };

			assert_int_equal(packet_decode(&p, &m, &arena, &f), 0);
			assert_string_equal(m.path, "p");
			if (i != 2)
				assert_int_equal(strlen(m.content), size + (i == 5));
		}
		arena_release(&arena);
		packet_release(&p);
		frame_release(&r);
		text_release(&t);
	}
	free(a);
}

static void test_base64(void **state)
{
	static const char *const pairs[][2] = {
		{ "", "" },        { "f", "Zg==" },        { "fo", "Zm8=" },
		{ "foo", "Zm9v" }, { "foob", "Zm9vYg==" },
	};
	static const char *const bad[] = { "Z",    "Zg=",  "Zg",     "Z===",
					   "=g==", "Zm 9", "Zm9v\n", "Zg==Zg==" };
	char buf[64];

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		size_t n = strlen(pairs[i][0]);

		base64_encode(buf, pairs[i][0], n);
		assert_string_equal(buf, pairs[i][1]);
		assert_int_equal(base64_size(n), strlen(buf));
		assert_int_equal(base64_decode(buf, buf, strlen(buf)), n);
		assert_memory_equal(buf, pairs[i][0], n);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(base64_decode(buf, bad[i], strlen(bad[i])), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_feed_in_pieces),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_decode),
		cmocka_unit_test(test_bad_messages),
		cmocka_unit_test(test_encode),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_fit),
		cmocka_unit_test(test_lift),
		cmocka_unit_test(test_base64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
