#include "tools/bench/floor.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "tools/bench/judge.h"

enum { WARM_UP = 20000, SAMPLES = 20000, PAGES = 256 };

/* --- SQLite, four rows a message ------------------------------------------------------ */

/* The columns that ours have in storage/, and no other index. */
static const char raw_schema[] =
	"PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
	"PRAGMA wal_autocheckpoint = 2000;"
	"CREATE TABLE agent (id INTEGER PRIMARY KEY) STRICT;"
	"CREATE TABLE message (id INTEGER PRIMARY KEY, team INTEGER, sender INTEGER,"
	" at INTEGER, type TEXT, content TEXT) STRICT;"
	"CREATE TABLE delivery (message INTEGER, agent INTEGER, state INTEGER,"
	" PRIMARY KEY (message, agent)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE event (seq INTEGER PRIMARY KEY, at INTEGER, kind INTEGER,"
	" team INTEGER, actor INTEGER, subject INTEGER, target INTEGER) STRICT;"
	"CREATE TABLE replay (key BLOB PRIMARY KEY, caller INTEGER, op INTEGER,"
	" args INTEGER, made INTEGER, at INTEGER) STRICT, WITHOUT ROWID;";

enum { BEGIN, MESSAGE, DELIVERY, EVENT, REPLAY, COMMIT, DELIVERY_ALL, STEPS };

static const char *const raw_text[STEPS] = {
	[BEGIN] = "BEGIN IMMEDIATE",
	[MESSAGE] = "INSERT INTO message (team, sender, at, type, content) "
		    "VALUES (1, ?2, ?1, 'text', ?3)",
	[DELIVERY] = "INSERT INTO delivery (message, agent, state) VALUES (?1, ?2, 0)",
	[EVENT] = "INSERT INTO event (at, kind, team, actor, subject, target) "
		  "VALUES (?1, 101, 1, ?2, ?3, ?2 + 1)",
	[REPLAY] = "INSERT INTO replay (key, caller, op, args, made, at) "
		   "VALUES (?3, ?2, 1, ?1 * 77, ?1, ?1)",
	[COMMIT] = "COMMIT",
	[DELIVERY_ALL] = "INSERT INTO delivery (message, agent, state) "
			 "SELECT ?1, id, 0 FROM agent",
};

struct bench_floor {
	sqlite3 *db;
	sqlite3_stmt *steps[STEPS];
	char dir[256], body[FLOOR_BODY + 1];
	uint64_t random;
	int64_t n;
};

static int floor_step(struct bench_floor *f, int which)
{
	int rc = sqlite3_step(f->steps[which]);

	sqlite3_reset(f->steps[which]);
	return rc == SQLITE_DONE
		       ? 0
		       : bench_fail("%s: %s", raw_text[which], sqlite3_errmsg(f->db));
}

static int floor_step_of(struct bench_floor *f, int which, int64_t first, int64_t second)
{
	sqlite3_bind_int64(f->steps[which], 1, first);
	sqlite3_bind_int64(f->steps[which], 2, second);
	return floor_step(f, which);
}

/* Adds a key like those that clients make: its first bytes are the time. */
static int floor_add_key(struct bench_floor *f, int64_t sender, int64_t message)
{
	uint64_t key[2] = { __builtin_bswap64((uint64_t)bench_now()),
			    bench_random(&f->random) };

	sqlite3_bind_blob(f->steps[REPLAY], 3, key, sizeof(key), SQLITE_STATIC);
	return floor_step_of(f, REPLAY, message, sender);
}

static int64_t floor_add_message(struct bench_floor *f)
{
	int64_t at = bench_now() / 1000000;

	sqlite3_bind_text(f->steps[MESSAGE], 3, f->body, FLOOR_BODY, SQLITE_STATIC);
	if (floor_step_of(f, MESSAGE, at, f->n % 64 + 1))
		return -1;
	sqlite3_bind_int64(f->steps[EVENT], 3, sqlite3_last_insert_rowid(f->db));
	f->n++;
	return sqlite3_last_insert_rowid(f->db);
}

static int add_send(struct bench_floor *f)
{
	int64_t sender = f->n % 64 + 1, message = floor_add_message(f);

	return message < 0 || floor_step_of(f, DELIVERY, message, sender + 1) ||
			       floor_step_of(f, EVENT, message, sender) ||
			       floor_add_key(f, sender, message)
		       ? -1
		       : 0;
}

static int add_batch(struct bench_floor *f, int batch)
{
	int rc = floor_step(f, BEGIN);

	for (int i = 0; i < batch && rc == 0; i++)
		rc = add_send(f);
	return rc || floor_step(f, COMMIT) ? -1 : 0;
}

static int floor_open_file(struct bench_floor *f, int agents)
{
	char path[300], *sql;
	int rc;

	snprintf(path, sizeof(path), "%s/raw.sqlite", f->dir);
	if (sqlite3_open(path, &f->db) != SQLITE_OK ||
	    sqlite3_exec(f->db, raw_schema, NULL, NULL, NULL) != SQLITE_OK)
		return bench_fail("%s: %s", path, sqlite3_errmsg(f->db));
	sql = sqlite3_mprintf("WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
			      "WHERE i < %d) INSERT INTO agent SELECT i FROM n",
			      agents);
	rc = sqlite3_exec(f->db, sql, NULL, NULL, NULL);
	sqlite3_free(sql);
	for (int i = 0; i < STEPS && rc == SQLITE_OK; i++)
		rc = sqlite3_prepare_v2(f->db, raw_text[i], -1, &f->steps[i], NULL);
	return rc == SQLITE_OK ? 0 : bench_fail("%s: %s", path, sqlite3_errmsg(f->db));
}

int floor_open(struct bench_floor **out, struct bench_ground *g, int agents)
{
	struct bench_floor *f = *out = xcalloc(1, sizeof(*f));
	int rc;

	f->random = 7;
	memset(f->body, 'x', FLOOR_BODY);
	rc = ground_folder(g, "floor", f->dir) || floor_open_file(f, agents) ? -1 : 0;
	/* While the WAL grows every sync writes the file's size too: one commit makes it
	 * as long as it will ever be, the next begins it anew. */
	return rc || add_batch(f, WARM_UP) || add_batch(f, 1) ? -1 : 0;
}

void floor_close(struct bench_floor *f)
{
	if (!f)
		return;
	for (int i = 0; i < STEPS; i++)
		sqlite3_finalize(f->steps[i]);
	sqlite3_close(f->db);
	if (f->dir[0])
		bench_remove_tree(f->dir);
	free(f);
}

double floor_rate(struct bench_floor *f, int batch, double seconds)
{
	int64_t begun = bench_now(), took = 0, n = 0;

	while ((took = bench_now() - begun) < (int64_t)(seconds * 1e9)) {
		if (add_batch(f, batch))
			return -1;
		n += batch;
	}
	return (double)n / ((double)took / 1e9);
}

static int broadcast(struct bench_floor *f)
{
	int64_t message = -1;

	if (floor_step(f, BEGIN) || (message = floor_add_message(f)) < 0)
		return -1;
	return floor_step_of(f, DELIVERY_ALL, message, 0) || floor_step(f, COMMIT) ? -1
										   : 0;
}

double floor_broadcast(struct bench_floor *f, double seconds)
{
	int64_t until = bench_now() + (int64_t)(seconds * 1e9), begun;
	double *took = xcalloc(SAMPLES, sizeof(*took)), ms;
	size_t n = 0;
	int rc = 0;

	sqlite3_clear_bindings(f->steps[DELIVERY_ALL]);
	while (rc == 0 && n < SAMPLES && (begun = bench_now()) < until) {
		rc = broadcast(f);
		took[n++] = (double)(bench_now() - begun) / 1e6;
	}
	ms = rc ? -1 : judge_median(took, n);
	free(took);
	return ms;
}

/* --- the disk alone ------------------------------------------------------------------- */

static int floor_write_page(struct floor_page *p)
{
	static const char page[4096];
	off_t at = p->n++ % PAGES * (off_t)sizeof(page);

	return pwrite(p->fd, page, sizeof(page), at) == sizeof(page) ? 0 : -1;
}

int floor_page_open(struct floor_page *p, struct bench_ground *g, const char *name)
{
	*p = (struct floor_page){ 0 };
	snprintf(p->path, sizeof(p->path), "%s/%s", g->dir, name);
	p->fd = open(p->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (p->fd < 0)
		return bench_fail("%s: %s", p->path, strerror(errno));
	for (int i = 0; i < PAGES; i++) /* later syncs write no new size */
		if (floor_write_page(p))
			return bench_fail("%s: %s", p->path, strerror(errno));
	return fsync(p->fd);
}

double floor_page_sync(struct floor_page *p)
{
	int64_t begun = bench_now();

	if (floor_write_page(p) || fdatasync(p->fd))
		return bench_fail("%s: %s", p->path, strerror(errno));
	return (double)(bench_now() - begun) / 1e6;
}

void floor_page_close(struct floor_page *p)
{
	if (p->fd > 0)
		close(p->fd);
	if (p->path[0])
		unlink(p->path);
	*p = (struct floor_page){ 0 };
}

/* --- a process --------------------------------------------------------------------------- */

int floor_main(const char *what, const char *path)
{
	const char *sql = strcmp(what, "read") == 0
				  ? "SELECT content FROM message WHERE id = 1"
				  : "INSERT INTO message (content) VALUES ('hello')";
	sqlite3_stmt *st = NULL;
	sqlite3 *db = NULL;
	int rc = 1;

	if (sqlite3_open(path, &db) == SQLITE_OK &&
	    sqlite3_exec(db, "PRAGMA synchronous = FULL", NULL, NULL, NULL) ==
		    SQLITE_OK &&
	    sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK) {
		int got = sqlite3_step(st);

		rc = got == SQLITE_DONE || got == SQLITE_ROW ? 0 : 1;
	}
	sqlite3_finalize(st);
	sqlite3_close(db);
	return rc;
}

int floor_process_file(struct bench_ground *g, char path[300])
{
	char dir[256];
	sqlite3 *db = NULL;
	int rc;

	if (ground_folder(g, "process", dir))
		return -1;
	snprintf(path, 300, "%s/raw.sqlite", dir);
	rc = sqlite3_open(path, &db);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, raw_schema, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "INSERT INTO message (content) VALUES ('hello')",
				  NULL, NULL, NULL);
	sqlite3_close(db);
	return rc == SQLITE_OK ? 0 : bench_fail("%s: %s", path, sqlite3_errstr(rc));
}

double floor_process(const char *what, const char *path)
{
	const char *const argv[] = { "/proc/self/exe", "floor", what, path, NULL };
	struct start start = { .argv = argv, .in = -1, .out = -1, .extra = -1 };
	int64_t begun = bench_now();
	pid_t pid = bench_start_program(&start);
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return bench_fail("floor %s failed", what);
	return (double)(bench_now() - begun) / 1e6;
}
