/* test_op_doors - how doors use the tables of operations: schemas, commands, routes. */
#include "tests/opgen/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/cadre/reference.h"

static void checks_json(json_t *got, const char *want)
{
	json_t *json = json_loads(want, JSON_DECODE_ANY, NULL);
	char *text = json_dumps(got, JSON_COMPACT | JSON_ENCODE_ANY);

	assert_non_null(json);
	if (!json_equal(got, json))
		fail_msg("%s, not %s", text, want);
	free(text);
	json_decref(json);
	json_decref(got);
}

static void describes(void **state)
{
	(void)state;
	checks_json(op_schema(&record_part),
		    "{\"type\":\"object\",\"properties\":{"
		    "\"name\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":8,"
		    "\"pattern\":\"^[a-z][a-z0-9-]*$\",\"description\":\"Its name.\"},"
		    "\"size\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":5,"
		    "\"default\":2,\"description\":\"How big it is.\"},"
		    "\"tags\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
		    "\"description\":\"Words.\"}},"
		    "\"required\":[\"name\",\"tags\"],\"additionalProperties\":false}");
	checks_json(tool_schema("sing", WHO_OPERATOR),
		    "{\"type\":\"object\",\"properties\":{\"song\":{\"type\":\"string\","
		    "\"description\":\"What.\"}}}");
}

static void bundles(void **state)
{
	json_t *s = tool_schema("things", WHO_OPERATOR);
	json_t *props = json_object_get(s, "properties");

	(void)state;
	checks_json(json_incref(json_object_get(s, "required")), "[\"action\"]");
	checks_json(
		json_incref(json_object_get(props, "action")),
		"{\"type\":\"string\",\"description\":\"list(colour?) make(name,words?,"
		"count?,weight?,few?,shiny?,worn?,colour?,shade?,at?,note?,extra?,"
		"env?,parts?,main?,numbers?,colours?,lease_seconds?,seconds?) "
		"show(thing) take(thing,number?)\"}");
	/* a default that only some actions have is left out */
	checks_json(json_incref(json_object_get(props, "colour")),
		    "{\"type\":\"string\",\"enum\":[\"red\",\"green\","
		    "\"deep-blue\"],\"description\":\"Only of this colour.\"}");
	checks_json(json_incref(json_object_get(props, "limit")),
		    "{\"type\":\"integer\",\"default\":3,"
		    "\"description\":\"At most this many.\"}");
	/* a description that only repeats the name is left out of the schema, but not of the
	 * reference */
	checks_json(json_incref(json_object_get(props, "number")),
		    "{\"type\":\"integer\",\"default\":1}");
	assert_string_equal(field_find(op_thing_take->in, "number")->doc, "How many.");
	assert_null(json_object_get(props, "idempotency_key"));
	assert_null(json_object_get(props, "request_id"));
	json_decref(s);
}

static void finds_commands(void **state)
{
	static const struct {
		const char *argv[4], *op;
		int taken;
	} rows[] = {
		{ { "make", "x" }, "thing.make", 1 },
		{ { "things", "take", "x" }, "thing.take", 2 },
		{ { "things", "tak", "x" }, "thing.list", 1 },
		{ { "thing", "show" }, "thing.show", 2 },
		{ { "thing", "ready" }, "thing.ready", 2 },
		{ { "thing" }, NULL, 0 },
		{ { "nope" }, NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int argc = 0, taken;
		const struct op *op;

		while (rows[i].argv[argc])
			argc++;
		op = op_command(argc, (char **)rows[i].argv, &taken);
		assert_int_equal(taken, rows[i].taken);
		assert_true(rows[i].op ? op && !strcmp(op->name, rows[i].op) : !op);
	}
}

static void reads_words(void **state)
{
	static const struct {
		const char *line, *json, *text, *hint;
	} rows[] = {
		{ "a", "{\"name\":\"a\"}", NULL, NULL },
		{ "a|b c|d,e", "{\"name\":\"a\",\"words\":[\"b c\",\"d,e\"]}", NULL,
		  NULL },
		{ "a|--count|12|--lease-seconds=3|--weight|-4",
		  "{\"name\":\"a\",\"count\":12,\"lease_seconds\":3,\"weight\":-4}", NULL,
		  NULL },
		{ "--called|a|--count|1x", "{\"name\":\"a\",\"count\":\"1x\"}", NULL,
		  NULL },
		{ "a|--worn|--no-shiny",
		  "{\"name\":\"a\",\"worn\":true,"
		  "\"shiny\":false}",
		  NULL, NULL },
		{ "--worn=false|--shiny=maybe",
		  "{\"worn\":false,"
		  "\"shiny\":\"maybe\"}",
		  NULL, NULL },
		{ "--numbers|1,2|--numbers|3|--colours|red,green",
		  "{\"numbers\":[1,2,3],\"colours\":[\"red\",\"green\"]}", NULL, NULL },
		{ "--env|A=1=2|--env|B=|--extra|{\"x\":1}",
		  "{\"env\":{\"A\":\"1=2\",\"B\":\"\"},\"extra\":{\"x\":1}}", NULL,
		  NULL },
		{ "--main|{\"name\":\"p\"}|--parts|[{\"name\":\"q\"}]|--parts|{}",
		  "{\"main\":{\"name\":\"p\"},\"parts\":[{\"name\":\"q\"},{}]}", NULL,
		  NULL },
		{ "--extra|{", "{\"extra\":\"{\"}", NULL, NULL },
		{ "--at|2026-11-21T08:00:00Z", "{\"at\":\"2026-11-21T08:00:00Z\"}", NULL,
		  NULL },
		{ "--|--name|-", "{\"name\":\"--name\",\"words\":[\"-\"]}", NULL, NULL },
		{ "a|@f", "{\"name\":\"a\",\"words\":[\"@f\"]}", NULL, NULL },
		{ "a|--colr|x", NULL, "--colr", "Did you mean --colour?" },
		{ "--lease-secs|3", NULL, "--lease-secs",
		  "Did you mean --lease-seconds?" },
		{ "--zzz", NULL, "--zzz", "--help" },
		{ "-x", NULL, "-x", NULL },
		{ "--count", NULL, "needs a value", NULL },
		{ "--env|A", NULL, "NAME=VALUE", NULL },
		{ "a|--name|b", NULL, "given twice", NULL },
		{ "\xff", NULL, "UTF-8", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char copy[200], *rest = copy, *argv[16];
		struct fault f = { 0 };
		int argc = 0;
		json_t *args;

		snprintf(copy, sizeof(copy), "%s", rows[i].line);
		while (rest)
			argv[argc++] = strsep(&rest, "|");
		args = op_args(op_thing_make, argc, argv, &f);
		if (!args != !rows[i].json)
			fail_msg("%s: %s", rows[i].line, f.text);
		if (args) {
			checks_json(args, rows[i].json);
			continue;
		}
		assert_int_equal(f.code, FAULT_INVALID);
		if (!strstr(f.text, rows[i].text) ||
		    (rows[i].hint && !strstr(f.hint, rows[i].hint)))
			fail_msg("%s: %s %s", rows[i].line, f.text, f.hint);
	}
}

static void joins_words(void **state)
{
	const char *argv[] = { "la", "la", "la,la" };
	struct fault f = { 0 };

	(void)state;
	checks_json(op_args(op_bird_sing, 3, (char **)argv, &f),
		    "{\"song\":\"la la la,la\"}");
}

static void helps(void **state)
{
	struct text t = { 0 };

	(void)state;
	op_usage(op_thing_poke, &t);
	assert_string_equal(
		t.data,
		"usage: cadre poke THING NUMBER [--idempotency-key TEXT]\n"
		"\nPoke a thing.\n\n"
		"  THING                 The thing.\n"
		"  NUMBER                How often.\n"
		"  --idempotency-key TEXT\n"
		"                        Names this call; the same one again changes nothing more\n"
		"                        and returns what the first did.\n"
		"\nFaults (exit status): invalid 2, denied 5, rate_limited 6, unavailable 7\n");
	text_release(&t);
	for (size_t i = 0; i < op_count; i++)
		op_usage(&op_table[i], &t);
	assert_non_null(strstr(t.data, "[--no-shiny]"));
	assert_non_null(strstr(t.data, "NAME [WORDS...]"));
	assert_non_null(strstr(t.data, "(default deep-blue)"));
	assert_non_null(strstr(t.data, "  --[no-]shiny "));
	assert_non_null(strstr(t.data, "(default yes)"));
	assert_non_null(strstr(t.data, "Some numbers. Separate several by commas."));
	assert_non_null(strstr(t.data, "What it consists of. JSON with name, size,"));
	assert_non_null(strstr(t.data, "                        give it several times."));
	text_release(&t);
}

static void routes(void **state)
{
	static const struct {
		const char *method, *path, *op, *args;
	} rows[] = {
		{ "GET", "/api/things", "thing.list", "{}" },
		{ "POST", "/api/things", "thing.make", "{}" },
		{ "GET", "/api/things/ready", "thing.ready", "{}" },
		{ "GET", "/api/things/a%20b%2", "thing.show", "{\"thing\":\"a b%2\"}" },
		{ "DELETE", "/api/things/x/pokes/12", "thing.poke",
		  "{\"thing\":\"x\",\"number\":12}" },
		{ "GET", "/api/things/%00", "thing.show", "{\"thing\":null}" },
		{ "GET", "/api/things/", NULL, "{}" },
		{ "GET", "/api", NULL, "{}" },
		{ "GET", "", NULL, "{}" },
		{ "PUT", "/api/things", NULL, "{}" },
		{ "GET", "/api/look/lamp", "thing.show", "{\"what\":\"lamp\"}" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *args = json_object();
		const struct face *face;
		const struct op *op = op_route(rows[i].method, rows[i].path, &face, args);

		if (rows[i].op ? !op || strcmp(op->name, rows[i].op) : !!op)
			fail_msg("%s: %s", rows[i].path, op ? op->name : "-");
		checks_json(args, rows[i].args);
	}
}

static void refers(void **state)
{
	struct text t = { 0 }, again = { 0 };

	(void)state;
	reference_write(REFERENCE_ROUTES, &t);
	reference_write(REFERENCE_ROUTES, &again);
	assert_string_equal(t.data, again.data);
	assert_non_null(strstr(t.data, "\n### thing.make\n\nMake a thing.\n"));
	assert_non_null(strstr(t.data, "- HTTP: `GET /api/things/{thing}`"));
	assert_non_null(strstr(t.data, "| `rate_limited` | 6 | 429 |"));
	assert_non_null(strstr(t.data, "From host on port 5000; answered by "
				       "`ExecResult`."));
	text_release(&t);
	/* The reference has routes only with REFERENCE_ROUTES, and rates only with
	 * REFERENCE_RATES. */
	assert_null(strstr(again.data, "; rate `"));
	reference_write(REFERENCE_RATES, &t);
	assert_null(strstr(t.data, "- HTTP: `"));
	assert_non_null(strstr(t.data, "; rate `create`\n"));
	text_release(&t);
	text_release(&again);
}

/* In a hint, braces contain the texts for the different doors. Braces with any other content
 * are printed unchanged. */
static void speaks_of_doors(void **state)
{
	static const struct {
		const char *hint, *command, *tool, *route;
	} rows[] = {
		{ "{confirm=true|--yes}", "--yes", "confirm=true", "confirm=true" },
		{ "{a} {", "{a} {", "{a} {", "{a} {" },
		{ "", "", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct text t[3] = { 0 };

		hint_write(rows[i].hint, HINT_COMMAND, &t[0]);
		hint_write(rows[i].hint, HINT_TOOL, &t[1]);
		hint_write(rows[i].hint, HINT_ROUTE, &t[2]);
		assert_string_equal(t[0].data, rows[i].command);
		assert_string_equal(t[1].data, rows[i].tool);
		assert_string_equal(t[2].data, rows[i].route);
		for (int k = 0; k < 3; k++)
			text_release(&t[k]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(speaks_of_doors), cmocka_unit_test(describes),
		cmocka_unit_test(bundles),         cmocka_unit_test(finds_commands),
		cmocka_unit_test(reads_words),     cmocka_unit_test(joins_words),
		cmocka_unit_test(helps),           cmocka_unit_test(routes),
		cmocka_unit_test(refers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
