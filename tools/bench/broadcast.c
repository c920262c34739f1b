/*
 * Broadcasts into full inboxes, beside a raw insert of as many rows and one fsync.
 */
#include <sqlite3.h>
#include <stdio.h>

#include "tools/bench/floor.h"
#include "tools/bench/stage.h"

enum { BODY = FLOOR_BODY, AGENTS = 1000, CAPACITY = 100, ROUNDS = 5 };

static const struct talk plain = { .body = BODY };

static int64_t broadcast_count_rows(struct stage *s, const char *sql)
{
	char path[300];
	sqlite3 *db = NULL;
	sqlite3_stmt *st = NULL;
	int64_t n = -1;

	snprintf(path, sizeof(path), "%s/state.db", s->dir);
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
	    sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW)
		n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return n;
}

/* Checks that each body is stored once, and that every inbox but the sender's is full. */
static int check_broadcast(struct stage *s, uint64_t sent)
{
	int64_t messages = broadcast_count_rows(s, "SELECT count(*) FROM message");
	int64_t full = broadcast_count_rows(
		s, "SELECT count(*) FROM agent_inbox WHERE queued = 100");

	if (messages < (int64_t)sent || messages > (int64_t)sent + 1000)
		return bench_fail("%lld messages for %llu broadcasts",
				  (long long)messages, (unsigned long long)sent);
	return full >= AGENTS - 1
		       ? 0
		       : bench_fail("only %lld inboxes are full", (long long)full);
}

static bool broadcast_has_room(struct stage *s)
{
	return broadcast_count_rows(s,
				    "SELECT min(queued) FROM agent_inbox JOIN agent "
				    "ON id = agent WHERE name GLOB 'a[1-9]*'") < CAPACITY;
}

static int broadcast_play(struct stage *s, struct bench_floor *floor, struct judge *j)
{
	struct load l = { .script = &script_all,
			  .arg = &plain,
			  .socket = s->home.socket,
			  .clients = 1,
			  .window = 1,
			  .warm = 0.1,
			  .seconds = s->ground->fast ? 0.5 : 1 };
	struct outcome o;
	uint64_t sent = 0;
	double base;

	do { /* until the inboxes are full */
		if (load_run(&l, &o))
			return -1;
	} while (broadcast_has_room(s));
	for (int i = 0; i < ROUNDS; i++) {
		base = floor_broadcast(floor, l.seconds);
		if (base < 0 || load_run(&l, &o))
			return -1;
		sent += o.cycles;
		judge_round(j, o.p50_ms, base);
	}
	return check_broadcast(s, sent);
}

int bench_broadcast(struct bench_ground *g)
{
	struct stage *s = stage_new(g, "all", AGENTS, CAPACITY, true);
	struct bench_floor *floor = NULL;
	struct judge j = { 0 };
	int rc = s && floor_open(&floor, g, AGENTS) == 0 ? broadcast_play(s, floor, &j)
							 : -1;

	floor_close(floor);
	stage_free(s);
	if (rc == 0)
		score_rounds(g, "broadcast", &j);
	return rc;
}
