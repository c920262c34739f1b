
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "tools/bench/load.h"

enum { WARM_UP = 20000, PAGES = 256, LINE = 64 };

/* --- SQLite, four rows a message ------------------------------------------------------ */

/* The tables have the columns of the tables in storage/, but only the indexes that this schema
 * defines. */
static const char floor_schema[] =
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
	" args INTEGER, made INTEGER, at INTEGER) STRICT, WITHOUT ROWID;"
	"INSERT INTO message (content) VALUES ('hello');"
	"WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"
	" INSERT INTO agent SELECT i FROM n;";

enum { BEGIN, COMMIT, MESSAGE, DELIVERY, EVENT, REPLAY, DELIVERY_ALL, STEPS };

/* ?1: the message; ?2: the message's sender; ?3: a body or a key */
static const char *const floor_text[STEPS] = {
	[BEGIN] = "BEGIN IMMEDIATE",
	[COMMIT] = "COMMIT",
	[MESSAGE] = "INSERT INTO message (id, team, sender, at, type, content) "
		    "VALUES (?1, 1, ?2, ?1 + 1700000000000, 'text', CAST(?3 AS TEXT))",
	[DELIVERY] =
		"INSERT INTO delivery (message, agent, state) VALUES (?1, ?2 + 1, 0)",
	[EVENT] = "INSERT INTO event (at, kind, team, actor, subject, target) "
		  "VALUES (?1 + 1700000000000, 101, 1, ?2, ?1, ?2 + 1)",
	[REPLAY] = "INSERT INTO replay (key, caller, op, args, made, at) "
		   "VALUES (?3, ?2, 1, ?1 * 77, ?1, ?1 + 1700000000000)",
	[DELIVERY_ALL] = "INSERT INTO delivery (message, agent, state) "
			 "SELECT ?1, id, 0 FROM agent",
};

struct bench_floor {
	sqlite3 *db;
	sqlite3_stmt *steps[STEPS];
	char dir[256], body[LOAD_BODY];
	uint64_t random;
	int64_t n; /* number of messages, without the message that a new file has */
};

/* Runs a statement for the last message. A key begins with the time, like the keys of clients. */
static int floor_step(struct bench_floor *f, int which)
{
	uint64_t key[2] = { __builtin_bswap64((uint64_t)bench_now()),
			    bench_random(&f->random) };
	const void *third = which == REPLAY ? (void *)key : f->body;
	int rc;

	sqlite3_bind_int64(f->steps[which], 1, f->n + 1);
	sqlite3_bind_int64(f->steps[which], 2, f->n % 64 + 1);
	sqlite3_bind_blob(f->steps[which], 3, third,
			  which == REPLAY ? sizeof(key) : LOAD_BODY, SQLITE_STATIC);
	rc = sqlite3_step(f->steps[which]);
	sqlite3_reset(f->steps[which]);
	return rc == SQLITE_DONE
		       ? 0
		       : bench_fail("%s: %s", floor_text[which], sqlite3_errmsg(f->db));
}

/* Commits `messages` messages, each to one agent. If `messages` is 0, commits one message to
 * all agents, in one statement. */
static int floor_batch(struct bench_floor *f, int messages)
{
	int rc = floor_step(f, BEGIN);

	for (int i = 0; i < messages && rc == 0; i++) {
		f->n++;
		for (int which = MESSAGE; which <= REPLAY && rc == 0; which++)
			rc = floor_step(f, which);
	}
	if (messages == 0 && rc == 0) {
		f->n++;
		rc = floor_step(f, MESSAGE) || floor_step(f, DELIVERY_ALL);
	}
	return rc || floor_step(f, COMMIT);
}

static int floor_open_file(struct bench_floor *f)
{
	char path[300];
	int rc;

	snprintf(path, sizeof(path), "%s/raw.sqlite", f->dir);
	rc = sqlite3_open(path, &f->db) ||
	     sqlite3_exec(f->db, floor_schema, NULL, NULL, NULL);
	for (int i = 0; i < STEPS && rc == 0; i++)
		rc = sqlite3_prepare_v2(f->db, floor_text[i], -1, &f->steps[i], NULL);
	return rc ? bench_fail("%s: %s", path, sqlite3_errmsg(f->db)) : 0;
}

static int floor_need(struct scene *s)
{
	struct bench_floor *f;

	if (s->floor)
		return 0;
	f = s->floor = xcalloc(1, sizeof(*f));
	f->random = 7;
	memset(f->body, 'x', LOAD_BODY);
	/* While the WAL grows, every sync also writes the file's size. So one commit makes the
	 * WAL as long as it will ever be, and the next commit starts the WAL from its
	 * beginning. */
	return ground_folder(s->ground, "floor", f->dir) || floor_open_file(f) ||
	       floor_batch(f, WARM_UP) || floor_batch(f, 1);
}

int act_rows(struct scene *s, const struct act *a, struct series *out)
{
	const double ms = s->ground->fast ? 600 : 1200;
	int64_t begun, last, n = 0;

	if (floor_need(s))
		return -1;
	for (begun = bench_now(); bench_ms(begun) < ms; n += a->batch) {
		last = bench_now();
		if (floor_batch(s->floor, a->batch))
			return -1;
		series_add(out, bench_ms(last));
	}
	series_rate(out, (double)n / (bench_ms(begun) / 1e3));
	return 0;
}

/* --- the disk, the kernel, a process ---------------------------------------------------- */

static int floor_write_page(struct floor_page *p)
{
	static const char page[4096];
	off_t at = p->n++ % PAGES * (off_t)sizeof(page);

	return pwrite(p->fd, page, sizeof(page), at) == sizeof(page) ? 0 : -1;
}

static int floor_need_page(struct scene *s)
{
	struct floor_page *p = &s->page;
	int rc = 0;

	if (p->fd)
		return 0;
	snprintf(p->path, sizeof(p->path), "%s/sync", s->ground->dir);
	p->fd = open(p->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	for (int i = 0; i < PAGES && rc == 0; i++) /* fills the file, so that later syncs
						      write no new file size */
		rc = floor_write_page(p);
	return rc || fsync(p->fd) ? bench_fail("%s: %m", p->path) : 0;
}

double floor_sync(struct scene *s)
{
	int64_t begun;

	if (floor_need_page(s))
		return -1;
	begun = bench_now();
	return floor_write_page(&s->page) || fdatasync(s->page.fd)
		       ? bench_fail("%s: %m", s->page.path)
		       : bench_ms(begun);
}

static int floor_trip(struct scene *s)
{
	char line[LINE] = { 0 };

	return load_write_all(s->echo_fd, line, sizeof(line)) ||
			       read(s->echo_fd, line, sizeof(line)) != sizeof(line)
		       ? bench_fail("the echo is gone")
		       : 0;
}

int floor_need_file(struct scene *s)
{
	char path[300];
	sqlite3 *db = NULL;
	int rc;

	if (s->dir[0])
		return 0;
	if (scene_folder(s))
		return -1;
	snprintf(path, sizeof(path), "%s/raw.sqlite", s->dir);
	rc = sqlite3_open(path, &db) || sqlite3_exec(db, floor_schema, NULL, NULL, NULL)
		     ? bench_fail("%s: %s", path, sqlite3_errmsg(db))
		     : 0;
	sqlite3_close(db);
	return rc;
}

static int floor_process(struct scene *s, const char *what)
{
	char path[300];
	const char *const argv[] = { "/proc/self/exe", "floor", what, path, NULL };

	snprintf(path, sizeof(path), "%s/raw.sqlite", s->dir);
	return bench_run_program(&(struct start){ .argv = argv })
		       ? bench_fail("floor %s failed", what)
		       : 0;
}

static int floor_need_bare(struct scene *s, const struct act *a)
{
	if (a->text && floor_need_file(s))
		return -1;
	if (a->trips && !s->echo)
		s->echo = load_echo(&s->echo_fd, LINE);
	return s->echo < 0 || (a->syncs && floor_need_page(s));
}

int act_bare(struct scene *s, const struct act *a, struct series *out)
{
	int64_t begun;

	if (floor_need_bare(s, a))
		return -1;
	begun = bench_now();
	if (a->text && floor_process(s, a->text))
		return -1;
	for (int i = 0; i < a->syncs; i++)
		if (floor_sync(s) < 0)
			return -1;
	for (int i = 0; i < a->trips; i++)
		if (floor_trip(s))
			return -1;
	series_add(out, bench_ms(begun));
	return 0;
}

int floor_main(const char *what, const char *path)
{
	const char *sql = strcmp(what, "read") == 0
				  ? "SELECT content FROM message WHERE id = 1"
				  : "INSERT INTO message (content) VALUES ('hello')";
	sqlite3_stmt *st = NULL;
	sqlite3 *db = NULL;
	int rc = 1;

	if (!sqlite3_open(path, &db) &&
	    !sqlite3_exec(db, "PRAGMA synchronous = FULL", NULL, NULL, NULL) &&
	    !sqlite3_prepare_v2(db, sql, -1, &st, NULL)) {
		rc = sqlite3_step(st);
		rc = rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : 1;
	}
	sqlite3_finalize(st);
	sqlite3_close(db);
	return rc;
}

void floor_close(struct scene *s)
{
	struct bench_floor *f = s->floor;

	if (s->page.fd > 0)
		close(s->page.fd);
	if (s->page.path[0])
		unlink(s->page.path);
	for (int i = 0; f && i < STEPS; i++)
		sqlite3_finalize(f->steps[i]);
	if (f)
		sqlite3_close(f->db);
	if (f && f->dir[0])
		bench_remove_tree(f->dir);
	free(f);
}
