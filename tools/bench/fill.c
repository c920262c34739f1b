/*
 * Fills a large state with the rows that a million calls would leave, by a few SQL statements.
 * No host has the state open during the filling.
 */
#include <sqlite3.h>
#include <stdio.h>

#include "core/base/clock.h"
#include "ops.gen.h"
#include "tools/bench/stage.h"

#define TEAM "(SELECT id FROM team WHERE name = 't')"
#define FIRST "(SELECT id FROM agent WHERE name = 'a0')"
#define NUMBERS \
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %lld) "

static int fill_run(struct stage *s, char *sql)
{
	char path[300];
	sqlite3 *db = NULL;
	int rc;

	snprintf(path, sizeof(path), "%s/state.db", s->dir);
	rc = sqlite3_open(path, &db) || sqlite3_exec(db, sql, NULL, NULL, NULL)
		     ? bench_fail("filling: %s", sqlite3_errmsg(db))
		     : 0;
	sqlite3_close(db);
	sqlite3_free(sql);
	return rc;
}

int fill_tasks(struct stage *s, int64_t n)
{
	return n == 0 ? 0
		      : fill_run(
				s,
				sqlite3_mprintf(
					"BEGIN; " NUMBERS
					"INSERT INTO task (team, number, slug, title, priority, created_by,"
					" created_at, updated_at, epoch)"
					" SELECT t.id, t.next_task + i - 1, 'a-task', 'A task to be done', 3, " FIRST
					", %lld, %lld, (SELECT counts_from FROM state WHERE one = 1)"
					" FROM n JOIN team t ON t.name = 't';"
					"UPDATE team SET next_task = next_task + %lld WHERE name = 't'; COMMIT",
					n, clock_wall_ms(), clock_wall_ms(), n));
}

/* Fills the state with messages that were sent, received and acknowledged, one message a
 * millisecond, up to the present time. The key of every second message begins with the
 * message's number. */
int fill_history(struct stage *s, int64_t n)
{
	return n == 0 ? 0
		      : fill_run(
				s,
				sqlite3_mprintf(
					"BEGIN; " NUMBERS
					"INSERT INTO message (team, sender, at, urgent, to_all, ack_required, type, content)"
					" SELECT " TEAM ", " FIRST
					", %lld + i, 0, 0, 0, 'text', printf('%%.256c', 'x') FROM n;"
					"INSERT INTO delivery (message, agent, lane, state, attempt, fetched_at, done_at)"
					" SELECT id, sender + 1 + id %% 63, %d, %d, 1, at, at FROM message;"
					"INSERT INTO event (at, kind, team, actor, via, subject, target)"
					" SELECT at, %d, team, sender, 1, id, sender + 1 + id %% 63 FROM message;"
					"INSERT INTO replay (key, caller, op, args, made, at)"
					" SELECT CASE WHEN id %% 2 THEN CAST(printf('%%016d', id) AS BLOB)"
					"  ELSE randomblob(16) END AS key, sender, 1, id, id, at FROM message ORDER BY key;"
					"COMMIT",
					n, clock_wall_ms() - n, DELIVERY_LANE_NORMAL,
					DELIVERY_STATE_ACKED, EVENT_MESSAGE_SENT));
}
