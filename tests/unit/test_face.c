/* test_face - tests faces. A face gives an operation another name and another form of its
 * answer. */
#include "tests/opgen/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct face *named(const char *name)
{
	for (size_t i = 0; i < face_count; i++)
		if (strcmp(face_table[i].name, name) == 0)
			return &face_table[i];
	fail_msg("no face %s", name);
	return NULL;
}

static json_t *json(const char *text)
{
	json_t *v = json_loads(text, 0, NULL);

	assert_non_null(v);
	return v;
}

static void is_found(void **state)
{
	(void)state;
	assert_ptr_equal(face_tool("look", NULL), named("look"));
	assert_ptr_equal(face_tool("things", "all"), named("things"));
	assert_null(face_tool("look", "all"));
	assert_null(face_tool("things", NULL));
	assert_ptr_equal(named("look")->op, op_thing_show);
	assert_null(named("things")->own);
}

static void takes(const char *face, const char *said, const char *wanted)
{
	struct fault f = { 0 };
	json_t *args = json(said), *got = face_args(named(face), args, &f);
	json_t *want = json(wanted);

	if (!got || !json_equal(got, want))
		fail_msg("%s: %s: %s %s", face, said, f.where, f.text);
	json_decref(got);
	json_decref(want);
	json_decref(args);
}

static void renames_arguments(void **state)
{
	(void)state;
	takes("look", "{\"what\":\"lamp\"}", "{\"thing\":\"lamp\"}");
	takes("things", "{\"limit\":2}", "{\"limit\":2,\"colour\":\"red\"}");
	takes("things", "{\"limit\":null}", "{\"colour\":\"red\"}");
}

static void refuses_arguments(void **state)
{
	static const struct {
		const char *said, *where, *text;
	} rows[] = {
		{ "{}", "/what", "is required" },
		{ "{\"what\":null}", "/what", "is required" },
		{ "{\"what\":[\"lamp\"]}", "/what", "must not be a list" },
		{ "{\"what\":\"La\"}", "/what", "'La' is malformed" },
		{ "{\"thing\":\"lamp\"}", "/thing", "'thing' is not known here" },
		{ "{\"what\":\"lamp\",\"idempotency_key\":\"k\"}", "/idempotency_key",
		  "'idempotency_key' is not known here" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct fault f = { 0 };
		json_t *args = json(rows[i].said);

		assert_null(face_args(named("look"), args, &f));
		assert_string_equal(f.where, rows[i].where);
		assert_string_equal(f.text, rows[i].text);
		json_decref(args);
	}
}

static void answers(const char *face, const char *said, const char *result,
		    const char *wanted)
{
	json_t *args = json(said);
	char *got = face_answer(named(face), args, result);

	assert_string_equal(got, wanted);
	free(got);
	json_decref(args);
}

static void forms_answers(void **state)
{
	(void)state;
	answers("look", "{\"what\":\"lamp\"}",
		"{\"thing\":{\"name\":\"lamp\",\"parts\":[{\"name\":\"foot\"}],"
		"\"note\":\"n\",\"weight\":7}}",
		"{\"seen\":\"lamp\",\"first\":\"foot\",\"note\":\"n\","
		"\"by\":\"who looks at lamp\",\"weight\":7,\"sure\":true}");
	/* A part that the operation's answer lacks becomes null, or the member for that part is
	 * left out. */
	answers("look", "{\"what\":\"{what}\"}", "{}",
		"{\"seen\":null,\"first\":null,\"by\":\"who looks at {what}\","
		"\"weight\":null,\"sure\":true}");
	answers("things", "{\"limit\":0}",
		"{\"things\":[{\"name\":\"a\",\"parts\":[]},{\"name\":\"b\"}]}",
		"{\"names\":[\"a\",\"b\"],\"parts\":[{\"of\":\"a\",\"all\":[]},"
		"{\"of\":\"b\",\"all\":null}]}");
	answers("things", "{\"limit\":2}", "{}", "{\"names\":[],\"parts\":[],\"few\":2}");
}

static void refuses(enum fault_code code, const char *where, const char *wanted)
{
	struct fault f = { 0 };
	json_t *args = json("{\"what\":\"la\\\"mp\"}");
	char *got;

	fault_set(&f, code, where, "is wrong");
	fault_hint(&f, "Try again.");
	face_move(named("look"), &f);
	got = face_refusal(named("look"), args, &f, HINT_TOOL);
	if (wanted)
		assert_string_equal(got, wanted);
	else
		assert_null(got);
	free(got);
	json_decref(args);
}

static void forms_faults(void **state)
{
	(void)state;
	refuses(FAULT_NOT_FOUND, "/thing",
		"{\"seen\":null,\"error\":\"no la\\\"mp\",\"code\":\"not_found\"}");
	refuses(FAULT_INVALID, "/thing",
		"{\"error\":\"what: is wrong\",\"hint\":\"Try again.\","
		"\"code\":\"invalid\"}");
	refuses(FAULT_INVALID, "",
		"{\"error\":\"is wrong\",\"hint\":\"Try again.\",\"code\":\"invalid\"}");
	refuses(FAULT_NOT_FOUND, "/other", NULL);
	refuses(FAULT_DENIED, "/thing", NULL);
}

static void moves_faults(void **state)
{
	struct fault f = { 0 };

	(void)state;
	fault_set(&f, FAULT_INVALID, "/thing/3/x", "is wrong");
	face_move(named("look"), &f);
	assert_string_equal(f.where, "/what/3/x");
	f.where[0] = '\0';
	face_move(named("look"), &f);
	assert_string_equal(f.where, "");
}

static void describes(void **state)
{
	json_t *got = face_schema(named("look")), *want;

	(void)state;
	want = json("{\"type\":\"object\",\"properties\":{\"seen\":{\"type\":\"string\"},"
		    "\"first\":{\"type\":\"string\"},\"note\":{\"type\":\"string\"},"
		    "\"by\":{\"type\":\"string\"},"
		    "\"weight\":{\"type\":[\"integer\",\"null\"]},"
		    "\"sure\":{\"type\":\"boolean\"}},"
		    "\"required\":[\"seen\",\"first\",\"by\",\"weight\",\"sure\"]}");
	if (!json_equal(got, want))
		fail_msg("%s", json_dumps(got, JSON_COMPACT));
	json_decref(got);
	json_decref(want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_found),          cmocka_unit_test(renames_arguments),
		cmocka_unit_test(refuses_arguments), cmocka_unit_test(forms_answers),
		cmocka_unit_test(forms_faults),      cmocka_unit_test(moves_faults),
		cmocka_unit_test(describes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
