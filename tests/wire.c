/*
 * wire - tests of a real host and a real `cadre mcp`, which get bytes that no real client
 * sends. The host must be healthy after each test.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/dice.h"
#include "tests/lib/place.h"
#include "tests/wire/wire.h"

/* Writes two frames, a Hello and a call, to `out`. Returns the number of bytes. */
static size_t two_frames(char *out, size_t room)
{
	static const char *const bodies[] = {
		"{\"type\":\"Hello\",\"version\":\"0\",\"role\":\"client\",\"team\":\"red\"}",
		"{\"type\":\"Call\",\"id\":1,\"op\":\"team.list\"}",
	};
	size_t n = 0;

	for (int i = 0; i < 2; i++) {
		size_t len = strlen(bodies[i]);

		assert_true(n + len + 4 < room && len < 256);
		memcpy(out + n, (char[]){ 0, 0, 0, (char)len }, 4);
		memcpy(out + n + 4, bodies[i], len);
		n += len + 4;
	}
	return n;
}

void test_half_frames(void **state)
{
	struct scene *s = *state;
	char bytes[300];
	size_t n = two_frames(bytes, sizeof(bytes));
	json_t *answer;
	struct raw r;

	for (size_t i = 0; i < n; i++) {
		assert_true(raw_dial(&r, s->found.socket));
		assert_true(raw_send(&r, bytes, i, ANSWER_MS));
		raw_hang_up(&r);
	}
	/* Frames that are sent byte by byte are answered, too. */
	assert_true(raw_dial(&r, s->found.socket));
	for (size_t i = 0; i < n; i++)
		assert_true(raw_send(&r, bytes + i, 1, ANSWER_MS));
	json_decref(raw_hear(&r, ANSWER_MS));
	answer = raw_hear(&r, ANSWER_MS);
	assert_non_null(json_object_get(answer, "result"));
	json_decref(answer);
	raw_hang_up(&r);
}

/* Reads until the host closes the connection. All answers must be errors. */
static void hear_the_end(struct raw *r)
{
	json_t *answer;

	while ((answer = raw_hear(r, 200))) {
		assert_string_equal(text_at(answer, "type"), "Error");
		json_decref(answer);
	}
}

void test_garbage(void **state)
{
	static const char http[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct scene *s = *state;
	struct dice dice = { 1 };
	char noise[4096];
	struct raw r;

	assert_true(raw_dial(&r, s->found.socket));
	raw_send(&r, http, sizeof(http) - 1, ANSWER_MS);
	hear_the_end(&r);
	assert_int_equal(r.fd, -1);
	for (int i = 0; i < 200; i++) {
		size_t n = 1 + (size_t)dice_below(&dice, sizeof(noise) - 1);

		for (size_t k = 0; k < n; k++)
			noise[k] = (char)dice_roll(&dice);
		/* Every second sequence of random bytes is sent as the body of a valid frame. */
		assert_true(raw_dial(&r, s->found.socket));
		if (i % 2)
			raw_frame(&r, noise, n, ANSWER_MS);
		else
			raw_send(&r, noise, n, ANSWER_MS);
		if (i % 10 == 0)
			hear_the_end(&r);
		raw_hang_up(&r);
	}
}

/* Returns a call of exactly `size` bytes. */
static char *padded_call(size_t size)
{
	static const char head[] =
		"{\"type\":\"Call\",\"id\":9,\"op\":\"team.list\",\"x\":\"";
	char *body = malloc(size + 1);

	memset(body, 'x', size);
	memcpy(body, head, sizeof(head) - 1);
	memcpy(body + size - 2, "\"}", 3);
	return body;
}

void test_lengths(void **state)
{
	struct scene *s = *state;
	char *most = padded_call(FRAME_MAX);
	struct raw r[100];
	json_t *answer;
	long before;

	dial(s, &r[0], NULL);
	assert_true(raw_frame(&r[0], most, FRAME_MAX, ANSWER_MS));
	answer = raw_hear(&r[0], ANSWER_MS);
	assert_non_null(json_object_get(answer, "result"));
	json_decref(answer);
	refused(&r[0], "", 0, "InvalidRequest"); /* the connection stays open */
	raw_send(&r[0], "\0\x40\0\1{", 5, ANSWER_MS);
	hear_the_end(&r[0]);
	assert_int_equal(r[0].fd, -1);
	free(most);

	/* The host must not allocate memory for a frame whose length has arrived without the
	 * body. */
	before = memory_of(s->host);
	for (int i = 0; i < 100; i++) {
		assert_true(raw_dial(&r[i], s->found.socket));
		raw_send(&r[i], "\0\x40\0\0{\"type\"", 11, ANSWER_MS);
	}
	healthy(s);
	assert_true(memory_of(s->host) - before < 16 << 10);
	for (int i = 0; i < 100; i++)
		raw_hang_up(&r[i]);
}

static void refused_deep(struct raw *r, const char *head, const char *open, size_t depth)
{
	size_t n = strlen(head), step = strlen(open), size = n + step * depth;
	char *body = malloc(size + 1);

	memcpy(body, head, n);
	for (size_t i = 0; i < depth; i++)
		memcpy(body + n + i * step, open, step);
	refused(r, body, size, "InvalidRequest");
	free(body);
}

/* Sends valid JSON with very many levels. The host must answer the call or refuse it. */
static void answered_deep(struct raw *r, int depth)
{
	json_t *deep = json_object(), *answer;

	for (int i = 0; i < depth; i++)
		deep = json_pack("{so}", "a", deep);
	answer = raw_ask(r,
			 raw_call(5, "message.send",
				  json_pack("{sssssO}", "to", "bob", "content", "x",
					    "metadata", deep)),
			 ANSWER_MS);
	assert_non_null(answer);
	json_decref(answer);
	answer = raw_ask(r,
			 json_pack("{sssosssi}", "type", "Call", "args", deep, "op",
				   "team.list", "id", 6),
			 ANSWER_MS);
	assert_string_equal(text_at(answer, "type"), "Error");
	json_decref(answer);
}

void test_deep_json(void **state)
{
	struct scene *s = *state;
	struct raw r;

	dial(s, &r, NULL);
	refused_deep(&r, "", "[", 1 << 20);
	refused_deep(&r, "", "{\"a\":", 500000);
	refused_deep(&r, "{\"type\":\"Call\",\"id\":", "[", 100000);
	answered_deep(&r, 100);
	answered_deep(&r, 2000);
	json_decref(call(&r, 7, "team.list", "{}"));
	raw_hang_up(&r);
}

static const struct {
	const char *body, *code;
} wrong[] = {
	{ "[]", "InvalidRequest" },
	{ "17", "InvalidRequest" },
	{ "{}", "InvalidRequest" },
	{ "{\"type\":5}", "InvalidRequest" },
	{ "{\"type\":null,\"id\":1}", "InvalidRequest" },
	{ "{\"type\":\"\"}", "InvalidRequest" },
	{ "{\"type\":\"Nonsense\"}", "InvalidRequest" },
	{ "{\"type\":\"CallResult\",\"id\":1,\"result\":{}}", "InvalidRequest" },
	{ "{\"type\":\"Ping\"}", "InvalidRequest" },
	{ "{\"type\":\"Shutdown\"}", "InvalidRequest" },
	{ "{\"type\":\"Hello\"}", "InvalidRequest" }, /* a second Hello */
	{ "{\"type\":\"Call\"}", "NotFound" },
	{ "{\"type\":\"Call\",\"op\":7}", "NotFound" },
	{ "{\"type\":\"Call\",\"op\":\"no.such\"}", "NotFound" },
	{ "{\"type\":\"Call\",\"op\":\"clock.tick\",\"args\":{}}", "NotFound" },
	{ "{\"type\":\"Call\",\"op\":\"team.list\",\"args\":[]}", "InvalidRequest" },
	{ "{\"type\":\"Call\",\"op\":\"team.list\",\"args\":\"x\"}", "InvalidRequest" },
	{ "{\"type\":\"Call\",\"op\":\"team.list\",\"args\":{\"x\":1}}",
	  "InvalidRequest" },
	{ "{\"type\":\"Call\",\"op\":\"team.status\",\"args\":{\"team\":{}}}",
	  "InvalidRequest" },
	{ "{\"type\":\"Call\",\"op\":\"team.status\",\"args\":{\"team\":\"r\\u0000\"}}",
	  "InvalidRequest" },
	{ "{\"type\":\"Call\",\"op\":\"team.status\",\"args\":{\"team\":\"\xff\"}}",
	  "InvalidRequest" },
	{ "{\"type\":\"TeamMessage\",\"to\":[[]],\"content\":7}", "InvalidRequest" },
	{ "{\"type\":\"TeamMessage\"}", "InvalidRequest" },
	{ "{\"type\":\"TeamReceive\",\"limit\":\"x\",\"from\":{}}", "InvalidRequest" },
	{ "{\"type\":\"TaskClaim\",\"task_id\":{}}", "InvalidRequest" },
};

void test_wrong_types(void **state)
{
	static const char *const hellos[] = {
		"{\"type\":\"Hello\",\"agent\":5,\"team\":{},\"as\":\"x\",\"version\":[]}",
		"{\"type\":\"Hello\",\"agent\":\"ann\",\"team\":\"red\",\"token\":\"x\"}",
		"{\"type\":\"Hello\",\"agent\":\"\xf0\x9f\x98\x80\",\"team\":\"no such\"}",
	};
	struct scene *s = *state;
	struct raw r;

	dial(s, &r, NULL);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		refused(&r, wrong[i].body, strlen(wrong[i].body), wrong[i].code);
	json_decref(call(&r, 7, "team.list", "{}"));
	raw_hang_up(&r);
	for (size_t i = 0; i < sizeof(hellos) / sizeof(*hellos); i++) {
		assert_true(raw_dial(&r, s->found.socket));
		raw_frame(&r, hellos[i], strlen(hellos[i]), ANSWER_MS);
		json_decref(raw_hear(&r, ANSWER_MS));
		json_decref(call(&r, 7, "message.peek", "{}"));
		raw_hang_up(&r);
	}
}

/* The host returns each id unchanged. A repeated id is a separate call. */
void test_ids(void **state)
{
	static const char *const ids[] = {
		"1",   "-9007199254740993", "\"\"", "\"\\u00fc\\ud83d\\ude00\"",
		"1.5", "{\"a\":[1]}",       "true", "[]",
	};
	struct scene *s = *state;
	json_t *answer, *id;
	struct raw r;

	dial(s, &r, "ann");
	for (int i = 0; i < 300; i++)
		assert_true(raw_say(&r, raw_call(3, i % 3 ? "message.peek" : "team.list",
						 json_object())));
	for (int i = 0; i < 300; i++) {
		answer = raw_hear(&r, ANSWER_MS);
		assert_int_equal(json_integer_value(json_object_get(answer, "id")), 3);
		json_decref(answer);
	}
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		id = json_loads(ids[i], JSON_DECODE_ANY, NULL);
		answer = raw_ask(&r,
				 json_pack("{sssssO}", "type", "Call", "op", "team.list",
					   "id", id),
				 ANSWER_MS);
		assert_true(json_equal(json_object_get(answer, "id"), id));
		json_decref(answer);
		json_decref(id);
	}
	raw_hang_up(&r);
}

void test_stops_in_a_frame(void **state)
{
	struct scene *s = *state;
	char bytes[300];
	size_t n = two_frames(bytes, sizeof(bytes));
	json_t *answer;
	struct raw r;

	assert_true(raw_dial(&r, s->found.socket));
	raw_send(&r, bytes, n - 9, ANSWER_MS);
	for (int i = 0; i < 10; i++) {
		healthy(s);
		pause_for(50);
	}
	raw_send(&r, bytes + n - 9, 9, ANSWER_MS);
	json_decref(raw_hear(&r, ANSWER_MS));
	answer = raw_hear(&r, ANSWER_MS);
	assert_non_null(json_object_get(answer, "result"));
	json_decref(answer);
	raw_hang_up(&r);
}

/* A team below another team is made only once. A second call with the same name gets an answer
 * of the same type, and this answer reports the failure. */
static void test_sub_team(void **state)
{
	struct scene *s = *state;
	struct raw r;

	dial(s, &r, NULL);
	for (int i = 0; i < 2; i++) {
		json_t *answer =
			raw_ask(&r,
				json_pack("{ss,si,ss,ss,s[{ss}]}", "type",
					  "CreateSubTeam", "id", i + 1, "name", "below",
					  "parent_team", "red", "roles", "name", "cal"),
				ANSWER_MS);

		assert_string_equal(text_at(answer, "type"), "SubTeamCreated");
		assert_string_equal(text_at(answer, "team_name"), "below");
		assert_int_equal(json_is_true(json_object_get(answer, "success")), !i);
		if (!i)
			assert_int_equal(json_integer_value(
						 json_object_get(answer, "member_count")),
					 2);
		else
			assert_non_null(strstr(text_at(answer, "message"), "below"));
		json_decref(answer);
	}
	raw_hang_up(&r);
}

#define EACH(test) cmocka_unit_test_teardown(test, scene_is_healthy)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(test_half_frames),      EACH(test_garbage),
		EACH(test_lengths),          EACH(test_deep_json),
		EACH(test_wrong_types),      EACH(test_ids),
		EACH(test_stops_in_a_frame), EACH(test_connects),
		EACH(test_no_descriptors),   EACH(test_never_reads),
		EACH(test_never_confirms),   EACH(test_waits_and_leaves),
		EACH(test_slow_guest),       EACH(test_heartbeats_at_once),
		EACH(test_mcp_garbage),      EACH(test_mcp_long_and_deep),
		EACH(test_mcp_never_reads),  EACH(test_mcp_half_a_line),
		EACH(test_sub_team),
	};

	return cmocka_run_group_tests(tests, scene_open, scene_close);
}
