#include "tests/iofault/stage.h"

#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "tests/lib/child.h"
#include "tests/lib/place.h"

/* --- beginning and end ------------------------------------------------------------- */

void stage_open(struct stage *s, const char *home)
{
	char path[100];

	assert_int_equal(temp_make(s->base, "iofault"), 0);
	if (home)
		snprintf(s->home, sizeof(s->home), "%s", home);
	else
		snprintf(s->home, sizeof(s->home), "%s/state", s->base);
	snprintf(s->log, sizeof(s->log), "%s/log", s->base);
	snprintf(s->disk_file, sizeof(s->disk_file), "%s/disk", s->base);
	snprintf(path, sizeof(path), "%s/runtime", s->base);
	mkdir(path, 0700);
	setenv("XDG_RUNTIME_DIR", path, 1);
	s->disk = fault_vfs_map(s->disk_file);
	assert_non_null(s->disk);
	s->asked = calloc(ASKED_MOST, sizeof(*s->asked));
}

void stage_close(struct stage *s)
{
	client_close(s->client);
	for (int i = 0; i < s->n_asked; i++) {
		json_decref(s->asked[i].args);
		json_decref(s->asked[i].answer);
	}
	free(s->asked);
	child_end_all();
	temp_remove(s->base);
}

static void open_client(struct stage *s, const char *agent)
{
	struct client_options o = { .home = &s->found };
	struct fault f = { 0 };

	client_close(s->client);
	assert_int_equal(home_find(&s->found, s->home, HOME_LOOK, &f), 0);
	o.identity = s->found.identity;
	o.identity.team = agent ? "io" : NULL;
	o.identity.agent = agent;
	o.identity.as = o.identity.proven = agent != NULL;
	assert_int_equal(client_open(&s->client, &o, &f), 0);
}

static void make_team(struct stage *s)
{
	json_t *args = json_pack("{sss[{ss}{ss}]si}", "name", "io", "roles", "name",
				 "ann", "name", "bob", "inbox_capacity", 0);

	open_client(s, NULL);
	assert_int_equal(stage_write(s, "team.create", args, NULL), SAID_YES);
}

void stage_start(struct stage *s)
{
	char vfs[120];
	const char *const env[] = { vfs, NULL };
	bool first = !s->client;

	snprintf(vfs, sizeof(vfs), "CADRE_TEST_VFS=%s", s->disk_file);
	s->host = host_start(s->home, env, s->log, 20000);
	assert_true(s->host > 0);
	if (first)
		make_team(s);
	open_client(s, "ann");
}

void stage_stop(struct stage *s, bool hard)
{
	int status;

	stage_alive(s);
	if (hard)
		kill(s->host, SIGKILL);
	status = hard ? child_wait(s->host, 5000) : child_end(s->host, 15000);
	s->host = 0;
	if (!hard && status != 0)
		fail_msg("the host ended with status %d", status);
}

void stage_alive(struct stage *s)
{
	int status;

	if (waitpid(s->host, &status, WNOHANG) == s->host)
		fail_msg("the host ended by itself: status %d; see %s", status, s->log);
}

/* --- the disk ------------------------------------------------------------------------ */

void disk_break(struct stage *s, int kinds, int result, long after, bool lasting)
{
	atomic_store(&s->disk->after, 0);
	atomic_store(&s->disk->kinds, kinds);
	atomic_store(&s->disk->result, result);
	atomic_store(&s->disk->lasting, lasting);
	atomic_store(&s->disk->seen, 0);
	atomic_store(&s->disk->failed, 0);
	atomic_store(&s->disk->after, after);
}

void disk_mend(struct stage *s)
{
	atomic_store(&s->disk->after, 0);
}

/* --- calls ----------------------------------------------------------------------------- */

static enum said ask(struct stage *s, const struct op *op, json_t *args, json_t **answer)
{
	struct text out = { 0 };

	*answer = NULL;
	s->fault = (struct fault){ 0 };
	if (client_call(s->client, op, args, &out, &s->fault) >= 0)
		*answer = json_loadb(out.data, out.len, 0, NULL);
	text_release(&out);
	stage_alive(s);
	/* If the connection broke, the client would bypass the host and its failing disk. */
	assert_true(client_hosted(s->client));
	if (*answer)
		return SAID_YES;
	return s->fault.code == FAULT_UNAVAILABLE ? SAID_UNAVAILABLE : SAID_NO;
}

enum said stage_write(struct stage *s, const char *name, json_t *args, json_t **answer)
{
	struct asked *a = &s->asked[s->n_asked];
	enum said said;

	assert_true(s->n_asked < ASKED_MOST);
	a->op = op_find(name);
	a->args = args;
	snprintf(a->key, sizeof(a->key), "k-%06d", ++s->n_asked);
	json_object_set_new(args,
			    a->op->flags & OP_REQUEST ? "request_id" : "idempotency_key",
			    json_string(a->key));
	said = ask(s, a->op, args, &a->answer);
	if (said == SAID_NO)
		fail_msg("%s: %s", name, s->fault.text);
	if (answer)
		*answer = a->answer;
	return said;
}

enum said stage_read(struct stage *s, const char *name, json_t *args, json_t **answer)
{
	enum said said = ask(s, op_find(name), args, answer);

	json_decref(args);
	return said;
}

static json_t *text_of(const struct stage *s, const char *word)
{
	return json_sprintf("%s %d of those that must be there once", word, s->n_asked);
}

static int receive(struct stage *s)
{
	json_t *answer, *ids = json_array(), *message;
	json_t *args =
		json_pack("{sisisb}", "limit", 5, "lease_seconds", 3600, "keep", 1);
	int number = s->n_asked + 1, yes;
	size_t i;

	/* `seen` tells the host that the messages of the last receive arrived. Without `seen`
	 * the host hands out these messages again. */
	if (s->received)
		json_object_set_new(args, "seen",
				    json_pack("[o]",
					      json_sprintf("k-%06d", s->received)));
	yes = stage_write(s, "message.receive", args, &answer) == SAID_YES;
	if (yes)
		s->received = number;

	json_array_foreach(json_object_get(answer, "messages"), i, message)
		json_array_append(ids, json_object_get(message, "message_id"));
	if (json_array_size(ids))
		return yes + (stage_write(s, "message.ack",
					  json_pack("{so}", "message_ids", ids),
					  NULL) == SAID_YES);
	json_decref(ids);
	return yes;
}

static int work(struct stage *s)
{
	json_t *answer, *task;
	int yes = stage_write(s, "task.claim", json_pack("{si}", "lease_seconds", 86400),
			      &answer) == SAID_YES;

	task = json_object_get(json_object_get(answer, "task"), "id");
	if (!task)
		return yes;
	return yes + (stage_write(s, "task.complete",
				  json_pack("{sOsOso}", "task", task, "epoch",
					    json_object_get(answer, "epoch"), "result",
					    text_of(s, "done")),
				  NULL) == SAID_YES);
}

enum said stage_send(struct stage *s)
{
	return stage_write(
		s, "message.send",
		json_pack("{s[s]so}", "to", "ann", "content", text_of(s, "sent")), NULL);
}

int stage_round(struct stage *s)
{
	int yes = stage_send(s) == SAID_YES;

	yes += stage_write(s, "task.create",
			   json_pack("{so}", "title", text_of(s, "task")),
			   NULL) == SAID_YES;
	yes += receive(s);
	yes += work(s);
	return yes;
}

void stage_settle(struct stage *s)
{
	int64_t until = clock_steady_ms() + patience_ms(15000);

	for (int i = 0; i < s->n_asked; i++) {
		struct asked *a = &s->asked[i];

		while (!a->answer) {
			enum said said = ask(s, a->op, a->args, &a->answer);

			if (said == SAID_NO)
				fail_msg("%s again: %s", a->op->name, s->fault.text);
			if (said == SAID_YES)
				break;
			if (clock_steady_ms() > until)
				fail_msg("%s is still unavailable: %s", a->op->name,
					 s->fault.text);
			pause_for(10);
		}
	}
}

/* --- the end --------------------------------------------------------------------------- */

static int64_t number(sqlite3 *db, const char *sql, const char *text)
{
	sqlite3_stmt *st = NULL;
	int64_t n = -1;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	sqlite3_bind_text(st, 1, text, -1, SQLITE_STATIC);
	if (sqlite3_step(st) == SQLITE_ROW)
		n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return n;
}

/* The queries that look for the result of a call. Each query counts the rows that hold an
 * argument of the call. */
static const struct {
	const char *op, *argument, *sql;
} traces[] = {
	{ "message.send", "content", "SELECT count(*) FROM message WHERE content = ?" },
	{ "task.create", "title", "SELECT count(*) FROM task WHERE title = ?" },
	{ "task.complete", "result",
	  "SELECT count(*) FROM task WHERE result = ? AND state = 4" },
};

static void judge_call(sqlite3 *db, const struct asked *a)
{
	for (size_t i = 0; i < sizeof(traces) / sizeof(*traces); i++) {
		const char *text =
			json_string_value(json_object_get(a->args, traces[i].argument));
		int64_t n;

		if (strcmp(traces[i].op, a->op->name))
			continue;
		n = number(db, traces[i].sql, text);
		if (n != 1)
			fail_msg("%s (%s) is there %d times", text, a->key, (int)n);
	}
}

/* At the end all calls of message.ack have succeeded. Therefore each message that these calls
 * name must be acknowledged in the state. */
static void judge_inbox(sqlite3 *db, const struct stage *s)
{
	int64_t acked = 0;

	for (int i = 0; i < s->n_asked; i++)
		acked += (int64_t)json_array_size(
			json_object_get(s->asked[i].args, "message_ids"));
	assert_int_equal(
		number(db, "SELECT count(*) FROM delivery WHERE state = 3", NULL), acked);
	assert_int_equal(
		number(db,
		       "SELECT count(*) FROM agent_inbox a WHERE queued <> (SELECT count(*)"
		       "	FROM delivery d WHERE d.agent = a.agent AND state < 2)"
		       " OR leased <> (SELECT count(*) FROM delivery d"
		       "	WHERE d.agent = a.agent AND state = 2)",
		       NULL),
		0);
}

void stage_judge(struct stage *s)
{
	char path[200];
	struct store *store = NULL;
	struct fault f = { 0 };
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/state.db", s->home);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	for (int i = 0; i < s->n_asked; i++)
		judge_call(db, &s->asked[i]);
	judge_inbox(db, s);
	sqlite3_close(db);
	if (store_open(&store, s->home, 0, NULL, &f) < 0 || store_check(store, &f) < 0)
		fail_msg("%s", f.text);
	store_close(store);
}
