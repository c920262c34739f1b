/*
 * Floors: what this machine and SQLite give at best.
 */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/bench/rows.h"

enum { SYNCS = 200, BODY = 256, WARM_UP = 800 };

/* --- SQLite, two rows a commit ------------------------------------------------------ */

static const char raw_schema[] =
	"PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
	"CREATE TABLE message (id INTEGER PRIMARY KEY, sender INTEGER, at INTEGER,"
	" content TEXT) STRICT;"
	"CREATE TABLE delivery (message INTEGER, agent INTEGER, state INTEGER,"
	" PRIMARY KEY (message, agent)) STRICT, WITHOUT ROWID;";

enum { RAW_BEGIN, RAW_MESSAGE, RAW_DELIVERY, RAW_COMMIT, RAW_COUNT };

static const char *const raw_text[RAW_COUNT] = {
	"BEGIN IMMEDIATE",
	"INSERT INTO message (sender, at, content) VALUES (1, ?, ?)",
	"INSERT INTO delivery (message, agent, state) VALUES (last_insert_rowid(), 2, 0)",
	"COMMIT",
};

struct raw {
	sqlite3 *db;
	sqlite3_stmt *steps[RAW_COUNT];
};

static int raw_open(struct raw *r, const char *path)
{
	if (sqlite3_open(path, &r->db) != SQLITE_OK ||
	    sqlite3_exec(r->db, raw_schema, NULL, NULL, NULL) != SQLITE_OK)
		return fail("%s: %s", path, sqlite3_errmsg(r->db));
	for (int i = 0; i < RAW_COUNT; i++)
		if (sqlite3_prepare_v2(r->db, raw_text[i], -1, &r->steps[i], NULL) !=
		    SQLITE_OK)
			return fail("%s: %s", raw_text[i], sqlite3_errmsg(r->db));
	return 0;
}

static void raw_close(struct raw *r)
{
	for (int i = 0; i < RAW_COUNT; i++)
		sqlite3_finalize(r->steps[i]);
	sqlite3_close(r->db);
}

static int raw_send(struct raw *r, const char *body)
{
	sqlite3_bind_int64(r->steps[RAW_MESSAGE], 1, home_now());
	sqlite3_bind_text(r->steps[RAW_MESSAGE], 2, body, -1, SQLITE_STATIC);
	for (int i = 0; i < RAW_COUNT; i++) {
		int rc = sqlite3_step(r->steps[i]);

		sqlite3_reset(r->steps[i]);
		if (rc != SQLITE_DONE)
			return fail("%s: %s", raw_text[i], sqlite3_errmsg(r->db));
	}
	return 0;
}

double floor_loop(struct ground *g, double seconds)
{
	char dir[256], path[300], body[BODY + 1];
	struct raw r = { 0 };
	int64_t begun, took = 0;
	long n = 0;
	int rc;

	memset(body, 'x', BODY);
	body[BODY] = '\0';
	if (ground_folder(g, "loop", dir))
		return -1;
	snprintf(path, sizeof(path), "%s/raw.sqlite", dir);
	rc = raw_open(&r, path);
	/* While the WAL grows every sync writes the file's size too. */
	for (int i = 0; i < WARM_UP && rc == 0; i++)
		rc = raw_send(&r, body);
	begun = bench_now();
	while (rc == 0 && (took = bench_now() - begun) < (int64_t)(seconds * 1e9)) {
		rc = raw_send(&r, body);
		n++;
	}
	raw_close(&r);
	remove_tree(dir);
	return rc ? -1 : (double)n / ((double)took / 1e9);
}

/* --- the disk alone ------------------------------------------------------------------- */

double floor_sync(struct ground *g)
{
	char dir[256], path[300];
	static const char page[4096];
	double took[SYNCS];
	int fd, n = 0;

	if (ground_folder(g, "sync", dir))
		return -1;
	snprintf(path, sizeof(path), "%s/page", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	for (; fd >= 0 && n < SYNCS; n++) {
		int64_t begun = bench_now();

		if (pwrite(fd, page, sizeof(page), n * (off_t)sizeof(page)) < 0 ||
		    fdatasync(fd))
			break;
		took[n] = (double)(bench_now() - begun) / 1e6;
	}
	if (fd >= 0)
		close(fd);
	remove_tree(dir);
	return n == SYNCS ? median(took, SYNCS) : fail("fdatasync: %s", strerror(errno));
}
