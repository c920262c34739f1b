/* test_op - converts JSON to structs and back with the tables of fields. */
#include "tests/opgen/fixture.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- looking up ------------------------------------------------------------------- */

static void looks_up(void **state)
{
	(void)state;
	assert_ptr_equal(op_find("thing.make"), op_thing_make);
	assert_null(op_find("thing.nope"));
	assert_int_equal(op_thing_make->run(NULL, NULL, NULL), 42);
	assert_ptr_equal(op_tool("things", "list"), op_thing_list);
	assert_ptr_equal(op_tool("sing", NULL), op_bird_sing);
	assert_null(op_tool("things", NULL));
	assert_null(op_tool("sing", "x"));
	assert_string_equal(event_kind(7)->name, "thing.ready");
	assert_int_equal(event_kind(120)->wakes, 1 << WAKE_INBOX | 1 << WAKE_EVENT);
	assert_null(event_kind(8));
	assert_string_equal(wire_find("Exec")->answer->name, "ExecResult");
	assert_int_equal(wire_find("Exec")->ports, 1);
	assert_int_equal(wire_find("TeamMessage")->ports, 3);
	assert_int_equal(wire_find("ExecResult")->senders, 0);
	assert_null(wire_find("exec"));
	assert_int_equal(EVENT_THING_MADE, 120);
	assert_int_equal(COLOUR_DEEP_BLUE, 2);
	assert_int_equal(op_thing_poke->flags,
			 OP_WRITE | OP_IDEMPOTENT | OP_DESTRUCTIVE | OP_NEEDS_HOST);
	assert_string_equal(op_thing_make->wait->name, "seconds");
	assert_string_equal(tool_table[0].doc, "Make things and look at them.");
	for (size_t i = 0; i < type_count; i++)
		assert_int_equal(type_table[i]->index, i);
}

static bool has_fault(const struct op *op, enum fault_code code)
{
	for (const enum fault_code *c = op->faults; *c; c++)
		if (*c == code)
			return true;
	return false;
}

static void says_what_follows(void **state)
{
	(void)state;
	assert_true(has_fault(op_thing_make, FAULT_CONFLICT));
	assert_true(has_fault(op_thing_list, FAULT_UNAVAILABLE));
	assert_false(has_fault(op_thing_list, FAULT_CONFLICT));
	assert_non_null(field_find(op_thing_make->in, "idempotency_key"));
	assert_non_null(field_find(op_thing_take->in, "request_id"));
	assert_null(field_find(op_thing_take->in, "idempotency_key"));
	assert_null(field_find(op_thing_note->in, "idempotency_key"));
	assert_null(field_find(op_thing_list->in, "idempotency_key"));
	assert_ptr_equal(field_find(op_thing_make->in, "title"),
			 field_find(op_thing_make->in, "name"));
	assert_string_equal(field_find(op_thing_make->in, "weight")->doc,
			    "In grams; may be left out when it is not known.");
}

/* --- decoding ----------------------------------------------------------------------- */

struct decoded {
	struct arena arena;
	struct fault fault;
	json_t *json;
	struct thing_make_in in;
};

static int decode(struct decoded *d, const char *text)
{
	*d = (struct decoded){ .json = json_loads(text, JSON_ALLOW_NUL, NULL) };
	assert_non_null(d->json);
	return op_decode(op_thing_make->in, d->json, &d->in, DECODE_STRICT, &d->arena,
			 &d->fault);
}

static void release(struct decoded *d)
{
	json_decref(d->json);
	arena_release(&d->arena);
}

static void fills_defaults(void **state)
{
	struct decoded d;

	(void)state;
	assert_int_equal(decode(&d, "{\"called\": \"a\", \"env\": null}"), 0);
	assert_string_equal(d.in.name, "a");
	assert_int_equal(d.in.count, 7);
	assert_int_equal(d.in.colour, COLOUR_DEEP_BLUE);
	assert_string_equal(d.in.note, "a \"b\" c");
	assert_string_equal(d.in.extra, "{}");
	assert_true(d.in.shiny);
	assert_false(d.in.has_worn || d.in.has_weight || d.in.has_few || d.in.has_shade ||
		     d.in.has_at || d.in.has_main);
	assert_null(d.in.env);
	assert_null(d.in.idempotency_key);
	assert_int_equal(d.in.n_words, 0);
	assert_non_null(d.in.words);
	assert_null(d.in.colours);
	release(&d);
}

static void takes_every_kind(void **state)
{
	struct decoded d;
	int rc = decode(
		&d,
		"{\"name\":\"b\", \"words\":[\"x\",\"\"], \"weight\":3.0,"
		" \"shiny\":false, \"worn\":true, \"shade\":\"green\","
		" \"at\":\"2026-11-21T09:00:00.5+01:00\","
		" \"extra\":{\"b\":1,\"a\":[true]}, \"env\":{\"B\":\"2\",\"A\":\"1\"},"
		" \"parts\":[{\"name\":\"p\",\"tags\":[\"t\"]}],"
		" \"main\":{\"name\":\"q\",\"tags\":[],\"size\":5},"
		" \"numbers\":[1,-2], \"colours\":[\"red\",\"deep-blue\"],"
		" \"idempotency_key\":\"k\"}");

	(void)state;
	assert_string_equal(d.fault.text, "");
	assert_int_equal(rc, 0);
	assert_int_equal(d.in.n_words, 2);
	assert_string_equal(d.in.words[1], "");
	assert_true(d.in.has_weight && d.in.weight == 3);
	assert_true(!d.in.shiny && d.in.has_worn && d.in.worn);
	assert_int_equal(d.in.shade, COLOUR_GREEN);
	assert_int_equal(d.in.at, 1795248000500);
	assert_string_equal(d.in.extra, "{\"a\":[true],\"b\":1}");
	assert_int_equal(d.in.n_env, 2);
	assert_string_equal(d.in.env[0].key, "A");
	assert_string_equal(d.in.parts[0].tags[0], "t");
	assert_int_equal(d.in.parts[0].size, 2);
	assert_true(d.in.has_main && d.in.main.size == 5);
	assert_int_equal(d.in.numbers[1], -2);
	assert_int_equal(d.in.colours[1], COLOUR_DEEP_BLUE);
	assert_string_equal(d.in.idempotency_key, "k");
	release(&d);
}

static void refuses(void **state)
{
	static const struct {
		const char *json, *where, *text, *hint;
	} rows[] = {
		{ "[]", "", "must be an object", NULL },
		{ "{}", "/name", "is required", NULL },
		{ "{\"name\":null}", "/name", "is required", NULL },
		{ "{\"name\":3}", "/name", "must be a text", NULL },
		{ "{\"name\":\"\"}", "/name", "must not be empty", NULL },
		{ "{\"name\":\"a23456789\"}", "/name", "not 9", NULL },
		{ "{\"name\":\"A\"}", "/name", "'A' is malformed", "Name of a thing." },
		{ "{\"name\":\"a\\u0000\"}", "/name", "U+0000", NULL },
		{ "{\"title\":\"A\"}", "/title", "is malformed", NULL },
		{ "{\"name\":\"a\",\"called\":\"b\"}", "/called", "'name' is given twice",
		  NULL },
		{ "{\"name\":\"a\",\"colr\":1}", "/colr", "'colr'",
		  "Did you mean 'colour'?" },
		{ "{\"name\":\"a\",\"a/b~c\":1}", "/a~1b~0c", "not known",
		  "Known names: name, words, count" },
		{ "{\"name\":\"a\",\"weight\":1.5}", "/weight", "whole", NULL },
		{ "{\"name\":\"a\",\"weight\":\"1\"}", "/weight", "whole", NULL },
		{ "{\"name\":\"a\",\"few\":6}", "/few", "1 to 5, not 6", NULL },
		{ "{\"name\":\"a\",\"shiny\":1}", "/shiny", "true or false", NULL },
		{ "{\"name\":\"a\",\"colour\":\"pink\"}", "/colour",
		  "'pink' is none of red, green, deep-blue", NULL },
		{ "{\"name\":\"a\",\"colour\":0}", "/colour", "one of", NULL },
		{ "{\"name\":\"a\",\"at\":\"yesterday\"}", "/at", "a time", NULL },
		{ "{\"name\":\"a\",\"at\":-1}", "/at", "a time", NULL },
		{ "{\"name\":\"a\",\"words\":7}", "/words", "text", NULL },
		{ "{\"name\":\"a\",\"at\":253402300800000}", "/at", "a time", NULL },
		{ "{\"name\":\"a\",\"words\":[\"x\",null]}", "/words/1", "a text", NULL },
		{ "{\"name\":\"a\",\"extra\":[]}", "/extra", "an object", NULL },
		{ "{\"name\":\"a\",\"extra\":{\"x\":\"\\u0000\"}}", "/extra", "U+0000",
		  NULL },
		{ "{\"name\":\"a\",\"env\":{\"A\":1}}", "/env/A", "a text", NULL },
		{ "{\"name\":\"a\",\"env\":[]}", "/env", "object of texts", NULL },
		{ "{\"name\":\"a\",\"parts\":[{\"name\":\"x\",\"tags\":[]},"
		  "{\"name\":\"X\"}]}",
		  "/parts/1/name", "is malformed", NULL },
		{ "{\"name\":\"a\",\"main\":{\"name\":\"x\"}}", "/main/tags",
		  "is required", NULL },
		{ "{\"name\":\"a\",\"main\":{\"nam\":\"x\"}}", "/main/nam", "not known",
		  "Did you mean 'name'?" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct decoded d;

		assert_int_equal(decode(&d, rows[i].json), FAULT_INVALID);
		assert_string_equal(d.fault.where, rows[i].where);
		if (!strstr(d.fault.text, rows[i].text))
			fail_msg("%s: '%s'", rows[i].json, d.fault.text);
		if (rows[i].hint && !strstr(d.fault.hint, rows[i].hint))
			fail_msg("%s: '%s'", rows[i].json, d.fault.hint);
		release(&d);
	}
}

static void survives_long_places(void **state)
{
	char json[400] = "{\"env\":{\"", *p = json + strlen(json);
	struct decoded d;

	(void)state;
	memset(p, '~', 300);
	memcpy(p + 300, "\":1}}", 6);
	assert_int_equal(decode(&d, json), FAULT_INVALID);
	assert_int_equal(strncmp(d.fault.where, "/env/~0~0", 9), 0);
	release(&d);
}

static void passes_unknown_keys(void **state)
{
	struct thing_list_in in = { 0 };
	struct arena arena = { 0 };
	struct fault f = { 0 };
	json_t *src = json_pack("{s:i, s:i}", "nope", 1, "limit", 4);

	(void)state;
	assert_int_equal(
		op_decode(op_thing_list->in, src, &in, DECODE_LENIENT, &arena, &f), 0);
	assert_int_equal(in.limit, 4);
	json_decref(src);
	arena_release(&arena);
}

static int threads_failed;

static void *decode_often(void *unused)
{
	for (int i = 0; i < 200; i++) {
		struct decoded d;

		if (decode(&d, "{\"name\":\"abc\"}") != 0)
			return &threads_failed;
		release(&d);
	}
	return unused;
}

static void decodes_in_threads(void **state)
{
	pthread_t threads[4];
	void *result;

	(void)state;
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, decode_often, NULL);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &result);
		assert_null(result);
	}
}

/* --- encoding, hashing, time ------------------------------------------------------------ */

static void encodes(void **state)
{
	struct part part = { .name = "p", .size = 1 };
	struct pair pair = { "k\"", "v\n" };
	struct thing thing = {
		.name = "a",
		.colour = COLOUR_DEEP_BLUE,
		.made_at = 0,
		.parts = &part,
		.n_parts = 1,
		.has_weight = true,
		.weight = INT64_MIN,
		.has_worn = true,
		.has_seen_at = true,
		.seen_at = 1795248000500,
		.extra = "{\"x\":[1]}",
		.labels = &pair,
		.n_labels = 1,
	};
	struct text out = { 0 };
	json_t *back;

	(void)state;
	op_encode(&record_thing, &thing, &out);
	assert_string_equal(out.data,
			    "{\"name\":\"a\",\"colour\":\"deep-blue\","
			    "\"made_at\":\"1970-01-01T00:00:00.000Z\","
			    "\"parts\":[{\"name\":\"p\",\"size\":1,\"tags\":[]}],"
			    "\"weight\":-9223372036854775808,\"worn\":false,"
			    "\"seen_at\":\"2026-11-21T08:00:00.500Z\","
			    "\"extra\":{\"x\":[1]},\"labels\":{\"k\\\"\":\"v\\n\"}}");
	back = json_loads(out.data, 0, NULL);
	assert_non_null(back);
	json_decref(back);
	text_release(&out);
	op_encode(&record_thing_note_out, "", &out);
	assert_string_equal(out.data, "{}");
	text_release(&out);
}

static void quotes(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "", "\"\"" },
		{ "a\"\\\b\f\n\r\t\x01\x7f", "\"a\\\"\\\\\\b\\f\\n\\r\\t\\u0001\x7f\"" },
		{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
		  "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"" },
		{ "x\xff", "\"x\xef\xbf\xbd\"" },
		{ "\xc3", "\"\xef\xbf\xbd\"" }, /* an incomplete character */
		{ "\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xc0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\"" }, /* an overlong form */
		{ "\xed\xa0\x80", /* a surrogate */
		  "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xf4\x90\x80\x80", /* beyond U+10FFFF */
		  "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct text t = { 0 };

		text_add_json(&t, rows[i].in);
		assert_string_equal(t.data, rows[i].out);
		text_release(&t);
	}
}

static void grows(void **state)
{
	struct text t = { 0 };

	(void)state;
	for (int i = 0; i < 1000; i++)
		text_addf(&t, "%d,", i);
	text_addf(&t, "%600s", "x");
	assert_int_equal(t.len, 3890 + 600);
	assert_int_equal(strlen(t.data), t.len);
	text_release(&t);
}

/* A secret is hidden even if the secret is split between pieces of output, and no other
 * text is lost. */
static void hides(void **state)
{
	static const char said[] = "abab abac abacus aba",
			  seen[] = "abab **** ****us aba";

	(void)state;
	for (size_t cut = 1; cut < sizeof(said); cut++) {
		struct text fresh = { 0 }, shown = { 0 };

		for (size_t at = 0; at < sizeof(said) - 1; at += cut) {
			size_t left = sizeof(said) - 1 - at, n;

			text_add(&fresh, said + at, left < cut ? left : cut);
			n = text_hide(&fresh, "abac");
			text_add(&shown, fresh.data, n);
			text_drop(&fresh, n);
		}
		assert_string_equal(fresh.data, "aba");
		text_add(&shown, fresh.data, fresh.len);
		assert_string_equal(shown.data, seen);
		assert_int_equal(text_hide(&shown, ""), shown.len);
		text_release(&fresh);
		text_release(&shown);
	}
}

static uint64_t hash_of(const char *json, const char *except)
{
	struct decoded d;
	uint64_t h;

	assert_int_equal(decode(&d, json), 0);
	h = op_hash(op_thing_make->in, &d.in, except);
	release(&d);
	return h;
}

/* Fields with the same name and the same kind are copied. A field of the target keeps its value
 * if the source has no such field or no value in it. */
static void copies(void **state)
{
	struct part parts[] = { { .name = "keel", .size = 3 } };
	struct pair env[] = { { "A", "a" } };
	const struct thing_make_in in = {
		.name = "boat",
		.weight = 7,
		.has_weight = true,
		.colour = COLOUR_GREEN,
		.has_main = true,
		.main = { .name = "mast", .size = 5 },
		.parts = parts,
		.n_parts = 1,
		.note = "new",
		.env = env,
		.n_env = 1,
	};
	struct thing thing = { .made_at = 9, .shade = COLOUR_RED, .has_shade = true };
	struct wire_exec exec = { .command = "ls" };

	(void)state;
	record_copy(&record_thing_make_in, &in, &record_thing, &thing);
	assert_string_equal(thing.name, "boat");
	assert_true(thing.has_weight);
	assert_int_equal(thing.weight, 7);
	assert_int_equal(thing.colour, COLOUR_GREEN);
	assert_true(thing.has_main);
	assert_string_equal(thing.main.name, "mast");
	assert_ptr_equal(thing.parts, parts);
	assert_int_equal(thing.n_parts, 1);
	assert_string_equal(thing.note, "new");
	assert_false(thing.has_worn);
	assert_true(thing.has_shade);
	assert_int_equal(thing.made_at, 9);
	record_copy(&record_thing_make_in, &in, &record_wire_exec, &exec);
	assert_ptr_equal(exec.env, env);
	assert_int_equal(exec.n_env, 1);
	assert_string_equal(exec.command, "ls");
}

static void hashes(void **state)
{
	static const char *const all[] = {
		"{\"name\":\"a\"}",
		"{\"name\":\"b\"}",
		"{\"name\":\"a\",\"env\":{}}",
		"{\"name\":\"a\",\"env\":{\"A\":\"B\"}}",
		"{\"name\":\"a\",\"env\":{\"AB\":\"\"}}",
		"{\"name\":\"a\",\"weight\":0}",
		"{\"name\":\"a\",\"few\":1}",
		"{\"name\":\"a\",\"worn\":false}",
		"{\"name\":\"a\",\"worn\":true}",
		"{\"name\":\"a\",\"words\":[\"\"]}",
		"{\"name\":\"a\",\"words\":[\"ab\"]}",
		"{\"name\":\"a\",\"words\":[\"a\",\"b\"]}",
		"{\"name\":\"a\",\"words\":[\"12345678\"]}",
		"{\"name\":\"a\",\"words\":[\"12345678\",\"\"]}",
		"{\"name\":\"a\",\"colours\":[]}",
		"{\"name\":\"a\",\"note\":\"\"}",
		"{\"name\":\"a\",\"main\":{\"name\":\"p\",\"tags\":[]}}",
		"{\"name\":\"a\",\"idempotency_key\":\"k\"}",
	};
	uint64_t h[sizeof(all) / sizeof(all[0])];

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		h[i] = hash_of(all[i], NULL);
		for (size_t j = 0; j < i; j++)
			assert_true(h[i] != h[j]);
	}
	assert_true(hash_of("{\"name\":\"a\",\"count\":7}", NULL) == h[0]);
	assert_true(hash_of("{\"words\":[],\"name\":\"a\"}", NULL) == h[0]);
	assert_true(hash_of(all[17], "idempotency_key") ==
		    hash_of(all[0], "idempotency_key"));
	assert_true(hash_of("{\"name\":\"a\",\"extra\":{\"x\":1,\"y\":2}}", NULL) ==
		    hash_of("{\"extra\":{\"y\":2,\"x\":1},\"title\":\"a\"}", NULL));
}

static void tells_time(void **state)
{
	static const struct {
		const char *text;
		int64_t ms;
	} rows[] = {
		{ "1970-01-01T00:00:00Z", 0 },
		{ "1970-01-01T00:00:00.001z", 1 },
		{ "2000-02-29T23:59:59.9999Z", 951868799999 },
		{ "2026-11-21 08:00:00+00:00", 1795248000000 },
		{ "2026-11-21T00:30:00-07:30", 1795248000000 },
		{ "2016-12-31T23:59:60Z", 1483228800000 },
		{ "9999-12-31T23:59:59.999Z", 253402300799999 },
		{ "9999-12-31T23:59:60Z", -1 },
		{ "9999-12-31T23:59:59-00:01", -1 },
		{ "2026-11-21T08:00:00", -1 },
		{ "2026-11-21", -1 },
		{ "2026-13-01T00:00:00Z", -1 },
		{ "2026-02-29T00:00:00Z", -1 },
		{ "1900-01-01T00:00:00Z", -1 },
		{ "2026-11-21T24:00:00Z", -1 },
		{ "2026-11-21T08:00:00.Z", -1 },
		{ "2026-11-21T08:00:00ZZ", -1 },
		{ "", -1 },
		{ "1970-01-01T00:00:00+01:00", -1 },
	};
	char out[25];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (time_parse(rows[i].text) != rows[i].ms)
			fail_msg("%s: %lld", rows[i].text,
				 (long long)time_parse(rows[i].text));
	for (int64_t ms = 0; ms < 253402300800000; ms += 86400000LL * 29 + 12345) {
		time_format(ms, out);
		assert_true(time_parse(out) == ms);
	}
	time_format(-5, out);
	assert_string_equal(out, "1970-01-01T00:00:00.000Z");
	time_format(INT64_MAX, out);
	assert_string_equal(out, "9999-12-31T23:59:59.999Z");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(looks_up),
		cmocka_unit_test(says_what_follows),
		cmocka_unit_test(fills_defaults),
		cmocka_unit_test(takes_every_kind),
		cmocka_unit_test(refuses),
		cmocka_unit_test(survives_long_places),
		cmocka_unit_test(passes_unknown_keys),
		cmocka_unit_test(decodes_in_threads),
		cmocka_unit_test(encodes),
		cmocka_unit_test(quotes),
		cmocka_unit_test(grows),
		cmocka_unit_test(hides),
		cmocka_unit_test(copies),
		cmocka_unit_test(hashes),
		cmocka_unit_test(tells_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
