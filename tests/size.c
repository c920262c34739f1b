/*
 * size - reads, through every door, a state with more data than an answer can hold.
 *
 * No answer may be too large to be sent. All stored data must be readable, by pages and ranges.
 * A call that fails must have changed nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/lib/child.h"
#include "tests/lib/place.h"
#include "tests/size/size.h"

static struct scene *the;

static int scene_open(void **state)
{
	struct fault f = { 0 };
	char path[100];

	(void)state;
	child_adopt(); /* also ends the guest when this test ends */
	the = calloc(1, sizeof(*the));
	assert_int_equal(temp_make(the->base, "size"), 0);
	snprintf(the->home, sizeof(the->home), "%s/state", the->base);
	snprintf(the->log, sizeof(the->log), "%s/log", the->base);
	snprintf(path, sizeof(path), "%s/runtime", the->base);
	mkdir(path, 0700);
	setenv("XDG_RUNTIME_DIR", path, 1);
	setenv("CADRE_STATE_DURABILITY", "normal", 1);
	if (home_find(&the->found, the->home, HOME_MAKE, &f) < 0)
		fail_msg("%s", f.text);
	fill(the);
	the->host = host_start(the->home, NULL, the->log, 60000);
	assert_true(the->host > 0);
	return 0;
}

static int scene_close(void **state)
{
	(void)state;
	doors_close(the);
	child_end_all();
	temp_remove(the->base);
	free(the);
	return 0;
}

/* --- calls ------------------------------------------------------------------------------ */

/* Makes a call that must succeed, and returns its answer. The caller still owns `args`. */
static json_t *ask(const struct door *d, const struct op *op, json_t *args)
{
	struct said said = { 0 };

	d->ask(the, op, args, &said);
	if (!said.result)
		fail_msg("%s: %s: %.300s", d->name, op->name, said.fault);
	return said.result;
}

static json_t *ask_for(const struct door *d, const char *name, json_t *args)
{
	json_t *answer = ask(d, op_find(name), args);

	json_decref(args);
	return answer;
}

static size_t bytes_of(const json_t *answer, const char *field)
{
	return json_string_length(json_object_get(answer, field));
}

/* --- reads -------------------------------------------------------------------------------- */

/* A read operation, the answer's field that is counted, and the amount in all pages. The amount
 * is the number of items in a list, or of bytes in a text. If the amount is -1, all doors must
 * give the amount that the first door gives. */
static const struct reading {
	const char *op, *args, *field;
	long whole;
} readings[] = {
	{ "agent.history", "{\"name\":\"w-1\",\"limit\":1000}", "history", -1 },
	{ "agent.list", "{}", "agents", AGENTS + 1 },
	{ "agent.env", "{\"name\":\"w-1\"}", NULL, 0 },
	{ "agent.start", "{}", NULL, 0 },
	{ "agent.wait", "{\"name\":\"w-1\",\"timeout\":0}", NULL, 0 },
	{ "agent.whois", "{\"name\":\"w-1\"}", NULL, 0 },
	{ "agent.part", "{\"name\":\"w-1\"}", "text", 0 },
	{ "agent.door", "{\"name\":\"w-1\"}", NULL, 0 },
	{ "assignment.list", "{\"limit\":1000}", "assignments", 20 },
	{ "event.list", "{\"after\":0,\"limit\":1000}", "events", -1 },
	{ "event.wait", "{\"wait_seconds\":0}", NULL, 0 },
	{ "event.replay", "{\"until\":500}", "tasks", -1 },
	{ "message.list", "{\"limit\":1000}", "messages", MESSAGES + 21 },
	{ "message.news", "{}", NULL, 0 },
	{ "message.overdue", "{\"limit\":1000}", "overdue", 0 },
	{ "message.part", "{\"message_id\":\"MESSAGE\"}", "text", CONTENT },
	{ "message.part", "{\"message_id\":\"OLD\",\"part\":\"metadata\"}", "text",
	  OLD_METADATA },
	{ "message.peek", "{\"agent\":\"w-5\",\"limit\":1000}", "messages", 0 },
	{ "message.receipt", "{\"message_id\":\"MESSAGE\"}", "deliveries", DOORS },
	{ "limit.list", "{\"limit\":1000}", "left", AGENTS + 1 },
	{ "message.thread", "{\"thread\":\"long\",\"limit\":1000}", "messages",
	  MESSAGES + 1 },
	{ "reservation.list", "{\"limit\":1000}", "reservations", RESERVATIONS },
	{ "result.list", "{\"limit\":1000}", "results", 20 },
	{ "result.wait", "{\"id\":\"ASSIGNMENT\",\"timeout\":0}", NULL, 0 },
	{ "result.show", "{\"id\":\"ASSIGNMENT\",\"length\":3000000}", NULL, 0 },
	{ "search.find", "{\"query\":\"needle\",\"limit\":1000}", "hits", -1 },
	{ "state.line", "{}", NULL, 0 },
	{ "token.who", "{}", NULL, 0 },
	{ "state.status", "{}", NULL, 0 },
	{ "task.history", "{\"task\":\"001\",\"limit\":1000}", "history", -1 },
	{ "task.list", "{\"limit\":1000,\"all\":true}", "tasks", TASKS },
	{ "task.order", "{}", "tasks", TASKS },
	{ "task.part", "{\"task\":\"001\"}", "notes", NOTES },
	{ "task.ready", "{\"limit\":1000}", "tasks", TASKS },
	{ "task.show", "{\"task\":\"001\"}", NULL, 0 },
	{ "team.list", "{}", "teams", 1 },
	{ "task.wait", "{\"task\":\"001\",\"timeout\":0}", NULL, 0 },
	{ "team.wait", "{\"timeout\":0}", NULL, 0 },
	{ "team.budget", "{}", "budgets", 1 },
	{ "team.status", "{}", "members", AGENTS + 1 },
	{ "turn.list", "{\"limit\":1000}", "turns", 1 },
	{ "turn.read", "{\"turn\":1}", "text", TURN },
	{ "vault.frontmatter", "{\"path\":\"long.md\"}", NULL, 0 },
	{ "vault.list", "{\"recursive\":true}", "entries", -1 },
	{ "vault.read", "{\"path\":\"flat.md\"}", "content", FLAT },
	{ "vault.search",
	  "{\"query\":\"needle\",\"max_results\":1000,\"context_lines\":20}", "results",
	  -1 },
	{ "vault.removed", "{}", "notes", 0 },
	{ "vault.stats", "{}", NULL, 0 },
	{ "vault.tags", "{}", "tags", -1 },
	{ "workspace.info", "{\"workspace\":\"big/lead\"}", NULL, 0 },
	{ "workspace.wait", "{\"workspace\":\"big/lead\",\"timeout\":0}", NULL, 0 },
	{ "workspace.list", "{}", "workspaces", 1 },
	{ "workspace.snapshots", "{\"workspace\":\"big/lead\"}", "snapshots", 0 },
};

enum { READINGS = sizeof(readings) / sizeof(*readings) };

static void put_id(json_t *args, const char *key, const char *word, const char *id)
{
	const char *s = json_string_value(json_object_get(args, key));

	if (s && strcmp(s, word) == 0)
		json_object_set_new(args, key, json_string(id));
}

static json_t *args_of(const struct reading *r)
{
	json_t *args = json_loads(r->args, 0, NULL);

	assert_non_null(args);
	put_id(args, "message_id", "MESSAGE", the->message);
	put_id(args, "message_id", "OLD", the->old);
	put_id(args, "id", "ASSIGNMENT", the->assignment);
	return args;
}

static size_t amount(const struct reading *r, const json_t *answer)
{
	const json_t *field = json_object_get(answer, r->field);

	return json_is_array(field) ? json_array_size(field) : json_string_length(field);
}

/* Checks the hint over MCP, which must contain the argument for the next page with the
 * argument's exact value. */
static void check_hint(const struct op *op, const json_t *answer, const json_t *next)
{
	const char *hint = json_string_value(json_object_get(answer, "hint"));
	char *value = json_dumps(next, JSON_ENCODE_ANY);
	struct text call = { 0 };

	text_addf(&call, "call again with %s=", page_argument(op)->name);
	if (!hint || !(hint = strstr(hint, call.data)))
		fail_msg("%s: no way on in its hint", op->name);
	hint += call.len;
	if (strncmp(hint, value, strlen(value)) != 0 &&
	    (!json_is_string(next) ||
	     strncmp(hint, json_string_value(next), json_string_length(next)) != 0))
		fail_msg("%s: not %s in its hint: %s", op->name, value, hint);
	text_release(&call);
	free(value);
}

/* Reads all pages, and returns the number of items or bytes in all pages. */
static size_t read_all(const struct door *d, const struct reading *r)
{
	const struct op *op = op_find(r->op);
	json_t *args = args_of(r), *answer;
	const json_t *next;
	size_t whole = 0, n;

	for (;;) {
		answer = ask(d, op, args);
		n = r->field ? amount(r, answer) : 0;
		whole += n;
		next = r->field ? page_next(op, answer) : NULL;
		if (!next)
			break;
		if (n == 0)
			fail_msg("%s: %s: an empty page", d->name, r->op);
		if (strcmp(d->name, "mcp") == 0 && op->tool)
			check_hint(op, answer, next);
		json_object_set(args, page_argument(op)->name, (json_t *)next);
		json_decref(answer);
	}
	if (r->field && json_is_true(json_object_get(answer, "more")))
		fail_msg("%s: %s: there is more, and no way to it", d->name, r->op);
	json_decref(answer);
	json_decref(args);
	return whole;
}

static bool grows(const char *op)
{
	return strcmp(op, "event.list") == 0 || strcmp(op, "agent.history") == 0 ||
	       strcmp(op, "search.find") == 0 || strcmp(op, "vault.search") == 0 ||
	       strcmp(op, "vault.list") == 0 || strcmp(op, "vault.tags") == 0;
}

/* Whether a check uses this door. At full size a check uses all doors, and otherwise every
 * second door. */
static bool has_door_turn(size_t door)
{
	long step = 2, first = first_of(&step);

	return (long)door % step == first;
}

static void test_reads(void **state)
{
	(void)state;
	for (size_t i = 0; i < READINGS; i++) {
		long whole = readings[i].whole, step = whole < 0 ? 2 : DOORS;
		size_t first = (size_t)first_of(&step) + i;

		for (size_t k = first % (size_t)step; k < DOORS; k += (size_t)step) {
			long n = (long)read_all(&doors[k], &readings[i]);

			if (whole < 0)
				whole = n;
			/* A list of events, or of hits of an index, may grow while it is read. */
			if (n != whole && !grows(readings[i].op))
				fail_msg("%s: %s: %ld of %ld", doors[k].name,
					 readings[i].op, n, whole);
		}
	}
}

/* Checks that `readings` has all read operations that a lead may call. The doors call as a
 * lead. */
static void test_tries_all_reads(void **state)
{
	(void)state;
	for (size_t i = 0; i < op_count; i++) {
		size_t k = 0;

		if (op_table[i].flags & OP_WRITE || op_table[i].who >= WHO_OPERATOR)
			continue;
		while (k < READINGS && strcmp(readings[k].op, op_table[i].name) != 0)
			k++;
		if (k == READINGS)
			fail_msg("%s is not tried", op_table[i].name);
		if (field_find(op_table[i].out, "more") && !page_argument(&op_table[i]) &&
		    strcmp(op_table[i].name, "state.status") != 0 &&
		    strcmp(op_table[i].name, "result.show") != 0)
			fail_msg("%s has pages and no way to the next", op_table[i].name);
	}
}

static void test_reads_a_result(void **state)
{
	(void)state;
	for (size_t k = 0; k < DOORS; k++) {
		size_t at = 0, parts = 0;
		json_t *answer;
		bool more = true;

		for (; more; parts++) {
			answer = ask_for(&doors[k], "result.show",
					 json_pack("{sssssisI}", "id", the->assignment,
						   "stream", "stdout", "length", 3000000,
						   "offset", (json_int_t)at));
			at += bytes_of(answer, "stdout");
			more = json_is_true(json_object_get(answer, "more"));
			json_decref(answer);
		}
		assert_int_equal(at, PRINTED);
		assert_true(parts > 1);
	}
}

/* --- writes ---------------------------------------------------------------------------------- */

/* Calls that change a task whose notes alone fill an answer. Each of these calls must get an
 * answer. */
static const char *const steps[][2] = {
	{ "task.claim", "{}" },
	{ "task.start", "{}" },
	{ "task.heartbeat", "{}" },
	{ "task.note", "{\"text\":\"short\"}" },
	{ "task.block", "{\"reason\":\"why\"}" },
	{ "task.unblock", "{}" },
	{ "task.update",
	  "{\"title\":\"other\",\"acceptance_criteria\":[{\"text\":\"x\"}]}" },
	{ "task.tick", "{\"criterion\":1}" },
	{ "task.release", "{}" },
	{ "task.assign", "{\"agent\":\"lead\"}" },
	{ "task.claim", "{}" },
	{ "task.fail", "{\"result\":\"no\"}" },
	{ "task.retry", "{}" },
	{ "task.claim", "{}" },
	{ "task.complete", "{\"result\":\"yes\"}" },
};

static json_int_t last_event(void)
{
	json_t *status = ask_for(&doors[1], "state.status", json_object());
	json_int_t seq = json_integer_value(json_object_get(status, "event_seq"));

	json_decref(status);
	return seq;
}

static void test_changes_of_large_tasks(void **state)
{
	(void)state;
	for (size_t k = 0; k < DOORS; k++)
		for (size_t i = 0; has_door_turn(k) && i < sizeof(steps) / sizeof(*steps);
		     i++) {
			json_t *args = json_loads(steps[i][1], 0, NULL), *task;

			json_object_set_new(args, "task", json_string(doors[k].task));
			task = ask_for(&doors[k], steps[i][0], args);
			/* Over MCP a change has a short answer, which is complete. */
			if (json_object_get(task, "task") &&
			    strcmp(doors[k].name, "mcp") != 0)
				assert_true(json_is_true(json_object_get(
					json_object_get(task, "task"), "more")));
			json_decref(task);
		}
}

/* A send with too much metadata is refused, and adds no event. */
static void test_refuses_without_a_trace(void **state)
{
	struct said said = { 0 };
	json_t *args = json_pack("{ssss}", "to", "w-1", "content", "x");
	json_int_t before = last_event();

	(void)state;
	json_object_set_new(args, "metadata",
			    json_pack("{so}", "k", repeated('x', CONTENT)));
	for (size_t k = 0; k < DOORS; k++) {
		doors[k].ask(the, op_find("message.send"), args, &said);
		assert_null(said.result);
		assert_non_null(strstr(said.fault, "262144"));
		said_release(&said);
	}
	json_decref(args);
	assert_int_equal(last_event(), before);
}

/* Returns the message's id, or the number if the answer has no id, as over MCP. */
static json_t *size_name_of(const json_t *m)
{
	json_t *id = json_object_get(m, "message_id"), *seq = json_object_get(m, "seq");

	assert_true(id || json_is_integer(seq));
	return id ? json_incref(id)
		  : json_sprintf("#%" JSON_INTEGER_FORMAT, json_integer_value(seq));
}

/* Reads by ranges the part of a message's content that is missing in `m`. Returns the number of
 * bytes in this part. */
static size_t rest_of(const struct door *d, const json_t *m)
{
	size_t at = bytes_of(m, "content"), came = at;
	json_t *part;

	if (!json_object_get(m, "content_size"))
		return 0;
	for (bool more = true; more;) {
		part = ask_for(d, "message.part",
			       json_pack("{sosI}", "message_id", size_name_of(m),
					 "offset", (json_int_t)at));
		at += bytes_of(part, "text");
		more = json_is_true(json_object_get(part, "more"));
		json_decref(part);
	}
	return at - came;
}

/* The agent of each door receives each of its messages once, and can read all of the content. */
static void test_receives(void **state)
{
	(void)state;
	for (size_t k = 0; k < DOORS; k++) {
		size_t n = 0, content = 0;
		bool old = false;
		json_t *answer, *m;
		size_t i, got, receives = 0;

		do {
			/* `seen` reports that the answer to the last receive arrived. Without
			 * `seen` the next receive would return the same messages again. */
			json_t *args = json_pack("{sssiso}", "agent", doors[k].agent,
						 "limit", 100, "request_id",
						 json_sprintf("%zu-%zu", k, ++receives));

			json_object_set_new(args, "seen",
					    json_pack("[o]", json_sprintf("%zu-%zu", k,
									  receives - 1)));
			answer = ask_for(&doors[k], "message.receive", args);
			got = json_array_size(json_object_get(answer, "messages"));
			json_array_foreach(json_object_get(answer, "messages"), i, m) {
				content += bytes_of(m, "content") + rest_of(&doors[k], m);
				old |= json_integer_value(json_object_get(
					       m, "metadata_size")) == OLD_METADATA;
			}
			n += got;
			json_decref(answer);
		} while (got);
		assert_int_equal(n, MESSAGES + 1);
		assert_int_equal(content, (size_t)MESSAGES * CONTENT + strlen("needle"));
		assert_true(old);
	}
}

/* --- workspaces --------------------------------------------------------------------------------- */

static void test_commands(void **state)
{
	(void)state;
	for (size_t k = 0; k < DOORS; k++) {
		/* Over MCP the output is read in many small parts. */
		int bytes = strcmp(doors[k].name, "mcp") == 0 ? 100000 : 1500000;
		json_t *answer, *part;
		size_t at, before;

		if (doors[k].ask == doors[1].ask)
			continue; /* without a host there are no commands */
		answer = ask_for(&doors[k], "workspace.exec",
				 json_pack("{ssso}", "workspace", "big/lead", "command",
					   json_sprintf("head -c %d /dev/zero | "
							"tr '\\0' '\\5'",
							bytes)));
		at = bytes_of(answer, "stdout");
		assert_int_equal(
			json_integer_value(json_object_get(answer, "stdout_size")),
			bytes);
		do {
			before = at;
			part = ask_for(&doors[k], "workspace.exec_poll",
				       json_pack("{sssOsI}", "workspace", "big/lead",
						 "job_id",
						 json_object_get(answer, "job_id"),
						 "stdout_offset", (json_int_t)at));
			at += bytes_of(part, "stdout");
			json_decref(part);
		} while (at > before);
		assert_int_equal(at, bytes);
		json_decref(answer);
	}
}

static void test_directories(void **state)
{
	const struct op *op = op_find("workspace.list_dir");

	(void)state;
	for (size_t k = 0; k < DOORS; k++) {
		if (!has_door_turn(k))
			continue;
		json_t *args = json_pack("{ssss}", "workspace", "big/lead", "path", "d");
		json_t *answer = NULL;
		size_t n = 0, pages = 0;

		for (; doors[k].ask != doors[1].ask; pages++) {
			json_decref(answer);
			answer = ask(&doors[k], op, args);
			n += json_array_size(json_object_get(answer, "entries"));
			if (!page_next(op, answer))
				break;
			json_object_set(args, "after", (json_t *)page_next(op, answer));
		}
		if (answer) {
			assert_int_equal(n, ENTRIES);
			assert_true(pages > 0);
		}
		json_decref(answer);
		json_decref(args);
	}
}

/* Opens the doors, makes a workspace for the lead, and writes long notes to the vault. */
static void test_opens(void **state)
{
	struct text text = { 0 };
	json_t *args;

	(void)state;
	doors_open(the);
	fill_hosted(the);
	for (int i = 0; i < 600; i++)
		text_addf(&text, "needle %0*d\n", 992, 0);
	args = json_pack("{ssss%}", "path", "long.md", "content", text.data, text.len);
	json_decref(ask_for(&doors[1], "vault.write", args));
	args = json_pack("{ssso}", "path", "flat.md", "content", repeated('\1', FLAT));
	json_decref(ask_for(&doors[1], "vault.write", args));
	text_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_opens),
		cmocka_unit_test(test_tries_all_reads),
		cmocka_unit_test(test_reads),
		cmocka_unit_test(test_reads_a_result),
		cmocka_unit_test(test_receives),
		cmocka_unit_test(test_changes_of_large_tasks),
		cmocka_unit_test(test_refuses_without_a_trace),
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_directories),
	};

	return cmocka_run_group_tests(tests, scene_open, scene_close);
}
