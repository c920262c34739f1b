#include "tests/size/size.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include <cmocka.h>

json_t *repeated(char c, size_t n)
{
	char *s = malloc(n + 1);
	json_t *json;

	memset(s, c, n);
	s[n] = '\0';
	json = json_stringn(s, n);
	free(s);
	return json;
}

/* Returns the client that makes all calls of this level. The client is opened only once,
 * because opening a state takes long. */
static struct client *client_of(struct scene *s, enum who level)
{
	struct client **c = level == WHO_HOST ? &s->as_host : &s->as_operator;
	const struct client_options o = {
		.home = &s->found,
		.direct = true,
		.identity = { .level = level, .team = "big" },
	};
	struct fault f = { 0 };

	if (!*c && client_open(c, &o, &f))
		fail_msg("%s", f.text);
	return *c;
}

json_t *do_directly(struct scene *s, enum who level, const char *op, json_t *args)
{
	struct text out = { 0 };
	struct fault f = { 0 };
	json_t *answer;

	if (client_call(client_of(s, level), op_find(op), args, &out, &f))
		fail_msg("%s: %s at %s", op, f.text, f.where);
	answer = json_loadb(out.data, out.len, 0, NULL);
	assert_non_null(answer);
	text_release(&out);
	json_decref(args);
	return answer;
}

static void did(json_t *answer)
{
	json_decref(answer);
}

/* Changes rows by SQL, because calls no longer make such rows, or would make them too slowly. */
static void sql(struct scene *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void sql(struct scene *s, const char *fmt, ...)
{
	char path[4200], *why = NULL, *text;
	sqlite3 *db;
	va_list ap;

	va_start(ap, fmt);
	text = sqlite3_vmprintf(fmt, ap);
	va_end(ap);
	snprintf(path, sizeof(path), "%s/state.db", s->home);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, text, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", text, why);
	sqlite3_free(text);
	sqlite3_close(db);
}

/* --- the team and its board ----------------------------------------------------------- */

static void fill_team(struct scene *s)
{
	json_t *roles = json_array();

	for (int i = 0; i < AGENTS / 100; i++) {
		char name[16];

		snprintf(name, sizeof(name), i ? "w%d" : "w", i);
		json_array_append_new(roles,
				      json_pack("{sssi}", "name", name, "count", 100));
	}
	did(do_directly(s, WHO_OPERATOR, "team.create",
			json_pack("{ssso}", "name", "big", "roles", roles)));
	sql(s, "UPDATE agent SET role = replace(hex(zeroblob(400)), '00', char(1)) "
	       "WHERE kind = 0");
}

static void fill_task(struct scene *s, int i)
{
	char id[16];

	did(do_directly(s, WHO_OPERATOR, "task.create",
			json_pack("{sssoss}", "title", "large", "description",
				  repeated('\1', CONTENT), "tags", "needle")));
	snprintf(id, sizeof(id), "%03d", i + 1);
	for (int n = 0; n < NOTES; n++)
		did(do_directly(s, WHO_OPERATOR, "task.note",
				json_pack("{ssso}", "task", id, "text",
					  repeated(n % 2 ? 'x' : '\2', CONTENT))));
	sql(s, "UPDATE task SET result = description WHERE number = %d", i + 1);
}

static void fill_board(struct scene *s)
{
	for (int i = 0; i < LARGE; i++)
		fill_task(s, i);
	sql(s,
	    "WITH n(n) AS (SELECT %d UNION ALL SELECT n + 1 FROM n WHERE n < %d) "
	    "INSERT INTO task (team, number, slug, title, priority, created_by, "
	    "created_at, updated_at) SELECT t.team, n.n, 'x', "
	    "replace(hex(zeroblob(500)), '00', char(1)), 3, t.created_by, "
	    "t.created_at, t.updated_at FROM n, (SELECT * FROM task WHERE number = 1) t;"
	    "UPDATE team SET next_task = %d",
	    LARGE + 1, TASKS, TASKS + 1);
}

/* --- mail and results ------------------------------------------------------------------- */

static void send_to_all(struct scene *s, json_t *args, char id[64])
{
	json_t *to = json_array(), *answer;

	for (int i = 0; i < DOORS; i++)
		json_array_append_new(to, json_string(doors[i].agent));
	json_object_set_new(args, "to", to);
	answer = do_directly(s, WHO_OPERATOR, "message.send", args);
	snprintf(id, 64, "%s", json_string_value(json_object_get(answer, "message_id")));
	json_decref(answer);
}

static void fill_mail(struct scene *s)
{
	for (int i = 0; i < MESSAGES; i++)
		send_to_all(s,
			    json_pack("{sosss{so}}", "content", repeated('\3', CONTENT),
				      "thread", "long", "metadata", "diff",
				      repeated('\n', CONTENT / 2 - 100)),
			    s->message);
	send_to_all(s, json_pack("{ssss}", "content", "needle", "thread", "long"),
		    s->old);
	sql(s,
	    "UPDATE message SET metadata = '{\"k\":\"' || "
	    "replace(hex(zeroblob(%d)), '00', 'x') || '\"}' "
	    "WHERE id = (SELECT max(id) FROM message)",
	    OLD_METADATA - 8);
}

/* Returns the row id of an agent. */
static json_int_t row_of(struct scene *s, const char *name)
{
	char path[4200];
	sqlite3_stmt *q;
	json_int_t row;
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/state.db", s->home);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT id FROM agent WHERE name = ?", -1,
					    &q, NULL),
			 SQLITE_OK);
	sqlite3_bind_text(q, 1, name, -1, SQLITE_STATIC);
	assert_int_equal(sqlite3_step(q), SQLITE_ROW);
	row = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	sqlite3_close(db);
	return row;
}

/* Makes a turn with two parts of output. In JSON each byte of the output takes six bytes. */
static void fill_turns(struct scene *s)
{
	sql(s,
	    "INSERT INTO turn (id, team, agent, generation, host, state, request, queued_at, "
	    "started_at, ended_at, size, kept) SELECT 1, team, id, 1, 1, %d, 1, 1, 1, 2, %d, "
	    "%d FROM agent WHERE name = 'w-1'",
	    TURN_STATE_DONE, TURN, TURN);
	for (int part = 0; part < 2; part++)
		sql(s,
		    "INSERT INTO turn_output (turn, start, at, text) SELECT 1, %d, 1, "
		    "replace(hex(zeroblob(%d)), '0', char(1))",
		    part * TURN / 2, TURN / 4);
}

static void fill_reservations(struct scene *s)
{
	for (int i = 0; i < RESERVATIONS; i++)
		sql(s,
		    "INSERT INTO reservation SELECT %d, team, id, generation, "
		    "printf('%%d/%%s', %d, replace(hex(zeroblob(120)), '0', char(1))), 0, "
		    "replace(hex(zeroblob(250)), '0', char(1)), 86400000, "
		    "(unixepoch() + 86400) * 1000, 1, '' FROM agent WHERE name = 'w-1'",
		    i + 1, i);
}

static void fill_results(struct scene *s)
{
	char *command = malloc(CONTENT), *payload;
	json_t *answer, *task;

	memset(command, '\4', 40000);
	command[40000] = '\0';
	task = json_pack("{ssss}", "task_id", "free text", "command", command);
	payload = json_dumps(task, JSON_COMPACT);
	for (int i = 0; i < 20; i++) {
		answer =
			do_directly(s, WHO_OPERATOR, "message.send",
				    json_pack("{ssssss}", "to", "w-9", "content", payload,
					      "message_type", "task_assignment"));
		snprintf(s->assignment, sizeof(s->assignment), "%s",
			 json_string_value(json_object_get(answer, "message_id")));
		json_decref(answer);
		did(do_directly(s, WHO_HOST, "result.store",
				json_pack("{sIsssbsisosssi}", "agent", row_of(s, "w-9"),
					  "message_id", s->assignment, "success", 1,
					  "exit_code", 0, "stdout",
					  repeated('\5', i == 19 ? PRINTED : 5000),
					  "stderr", "oops", "elapsed_secs", 1)));
	}
	json_decref(task);
	free(payload);
	free(command);
}

void fill(struct scene *s)
{
	fill_team(s);
	fill_board(s);
	fill_mail(s);
	fill_results(s);
	fill_turns(s);
	fill_reservations(s);
	client_close(s->as_operator);
	client_close(s->as_host);
}

/* --- rows that need a host ----------------------------------------------------------------- */

void fill_hosted(struct scene *s)
{
	struct said said = { 0 };
	json_t *args = json_pack(
		"{ssss}", "workspace", "big/lead", "command",
		"mkdir d && cd d && "
		"long=$(printf '%0240d' 0 | tr 0 '\\1') && seq 10001 13500 | sed \"s/^/$long/\" | xargs touch && "
		"head -c 5000000 /dev/zero | tr '\\0' '\\5' > ../big");

	doors[0].ask(s, op_find("workspace.exec"), args, &said);
	if (!said.result)
		fail_msg("%s", said.fault);
	assert_int_equal(json_integer_value(json_object_get(said.result, "exit_code")),
			 0);
	said_release(&said);
	json_decref(args);
}
