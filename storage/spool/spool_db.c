#include "storage/spool/spool_db.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "storage/defend.h"
#include "storage/durable.h"
#include "storage/spool/spool_witness.h"

enum { VERSION = 3, IDENTITY_BYTES = 16 };

#define DAYS_MS (86400 * INT64_C(1000))
#define KNOWN_FOR (90 * DAYS_MS) /* longer than a host keeps a delivery */

static const char pragmas[] = "PRAGMA auto_vacuum = FULL;"
			      "PRAGMA journal_mode = WAL;"
			      "PRAGMA synchronous = FULL;"
			      "PRAGMA cache_size = -256;"
			      "PRAGMA journal_size_limit = 1048576;"
			      "PRAGMA trusted_schema = OFF;";

static const char shape[] =
	"CREATE TABLE spool (one INTEGER PRIMARY KEY CHECK (one = 1),"
	" workspace TEXT NOT NULL, identity TEXT NOT NULL,"
	" restores INTEGER NOT NULL, seq INTEGER NOT NULL DEFAULT 0) STRICT;"
	"CREATE TABLE had (message_id TEXT PRIMARY KEY, at INTEGER NOT NULL)"
	" STRICT, WITHOUT ROWID;"
	"CREATE TABLE assignment (seq INTEGER PRIMARY KEY AUTOINCREMENT,"
	" message_id TEXT NOT NULL UNIQUE, content TEXT NOT NULL,"
	" task_id TEXT NOT NULL DEFAULT '', started_at INTEGER) STRICT;"
	"CREATE INDEX assignment_waiting ON assignment(seq)"
	" WHERE started_at IS NULL;"
	"CREATE TABLE result (seq INTEGER PRIMARY KEY AUTOINCREMENT,"
	" message_id TEXT NOT NULL UNIQUE, task_id TEXT NOT NULL,"
	" success INTEGER NOT NULL, exit_code INTEGER NOT NULL,"
	" interrupted INTEGER NOT NULL, elapsed_secs INTEGER NOT NULL,"
	" out TEXT NOT NULL, err TEXT NOT NULL) STRICT;"
	"CREATE TABLE env (name TEXT PRIMARY KEY, value TEXT NOT NULL)"
	" STRICT, WITHOUT ROWID;"
	"PRAGMA user_version = 3;";

/* Version 1 had no identity: the workspace's id stands for the one spool that it
 * had then. */
static const char identify[] =
	"ALTER TABLE spool ADD COLUMN identity TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE spool ADD COLUMN restores INTEGER NOT NULL DEFAULT 0;"
	"UPDATE spool SET identity = workspace;";

/* Version 2 did not count. */
static const char number[] =
	"ALTER TABLE spool ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;"
	"PRAGMA user_version = 3;";

static const char empty[] =
	"DELETE FROM had; DELETE FROM assignment; DELETE FROM result;";

static const char *const texts[SPOOL_STATEMENTS] = {
	[SPOOL_BEGIN] = "BEGIN IMMEDIATE",
	[SPOOL_COMMIT] = "COMMIT",
	[SPOOL_ROLLBACK] = "ROLLBACK",
	[SPOOL_KNOWS] = "SELECT 1 FROM had WHERE message_id = ?1",
	[SPOOL_NOTE] = "INSERT OR IGNORE INTO had (message_id, at) VALUES (?1, ?2)",
	[SPOOL_PUT] = "INSERT INTO assignment (message_id, content) VALUES (?1, ?2)",
	[SPOOL_ROOM] = "SELECT count(*) FROM assignment WHERE started_at IS NULL",
	[SPOOL_NEXT] = "SELECT seq, message_id, content FROM assignment"
		       " WHERE started_at IS NULL ORDER BY seq LIMIT 1",
	[SPOOL_START] = "UPDATE assignment SET started_at = ?2, task_id = ?3"
			" WHERE message_id = ?1 AND started_at IS NULL",
	[SPOOL_SEQ] = "UPDATE spool SET seq = ?2 + 1"
		      " WHERE identity = ?1 AND seq = ?2",
	[SPOOL_DROP] = "DELETE FROM assignment"
		       " WHERE message_id = ?1 AND started_at IS NULL",
	[SPOOL_FORGET] = "DELETE FROM assignment WHERE message_id = ?1",
	[SPOOL_FINISH] = "INSERT OR IGNORE INTO result (message_id, task_id, success,"
			 " exit_code, interrupted, elapsed_secs, out, err)"
			 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[SPOOL_INTERRUPT] = "INSERT OR IGNORE INTO result (message_id, task_id,"
			    " success, exit_code, interrupted, elapsed_secs, out, err)"
			    " SELECT message_id, task_id, 0, -1, 1,"
			    " max(0, (?1 - started_at) / 1000), '',"
			    " 'interrupted: the guest ended while this ran'"
			    " FROM assignment WHERE started_at IS NOT NULL"
			    " ORDER BY started_at",
	[SPOOL_STARTED_GONE] = "DELETE FROM assignment WHERE started_at IS NOT NULL",
	[SPOOL_RESULT] = "SELECT seq, message_id, task_id, success, exit_code,"
			 " interrupted, elapsed_secs, out, err FROM result"
			 " WHERE seq > ?1 ORDER BY seq LIMIT 1",
	[SPOOL_RESULT_OF] = "SELECT seq, message_id, task_id, success, exit_code,"
			    " interrupted, elapsed_secs, out, err FROM result"
			    " WHERE message_id = ?1",
	[SPOOL_ACK] = "DELETE FROM result WHERE message_id = ?1",
	[SPOOL_COUNT] = "SELECT (SELECT count(*) FROM assignment"
			" WHERE started_at IS NULL), (SELECT count(*)"
			" FROM assignment WHERE started_at IS NOT NULL),"
			" (SELECT count(*) FROM result)",
	[SPOOL_PRUNE] = "DELETE FROM had WHERE at < ?1 AND NOT EXISTS (SELECT 1"
			" FROM assignment a WHERE a.message_id = had.message_id)"
			" AND NOT EXISTS (SELECT 1 FROM result r"
			" WHERE r.message_id = had.message_id)",
	[SPOOL_ENV_SET] = "INSERT INTO env (name, value) VALUES (?1, ?2)"
			  " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
	[SPOOL_ENV] = "SELECT name, value FROM env WHERE name > ?1"
		      " ORDER BY name LIMIT 1",
};

struct spool {
	sqlite3 *db;
	sqlite3_stmt *statements[SPOOL_STATEMENTS]; /* prepared on first use */
	long fail_after;
	int fail_with;
	char owner[64];
	char identity[64];
	int64_t restores, seq;
	char dir[4096];
	bool overwritten; /* another spool was copied into the file */
};

/* --- statements --------------------------------------------------------------- */

static int broken(struct spool *s, int rc, struct fault *f)
{
	enum fault_code code = FAULT_IO;

	rc &= 0xff;
	if (rc == SQLITE_FULL || rc == SQLITE_NOMEM || rc == SQLITE_BUSY)
		code = FAULT_UNAVAILABLE;
	return fault_set(f, code, "", "the guest's spool: %s",
			 s->fail_after < 0 ? sqlite3_errstr(rc) : sqlite3_errmsg(s->db));
}

sqlite3_stmt *spool_get(struct spool *s, enum spool_statement id, const char *text)
{
	sqlite3_stmt **st = &s->statements[id];

	if (!*st && sqlite3_prepare_v3(s->db, texts[id], -1, SQLITE_PREPARE_PERSISTENT,
				       st, NULL) != SQLITE_OK)
		return NULL;
	sqlite3_reset(*st);
	if (text)
		sqlite3_bind_text(*st, 1, text, -1, SQLITE_TRANSIENT);
	return *st;
}

static int step(struct spool *s, sqlite3_stmt *st)
{
	if (s->fail_after > 0 && --s->fail_after == 0) {
		s->fail_after = -1;
		return s->fail_with;
	}
	return st ? sqlite3_step(st) : sqlite3_errcode(s->db);
}

bool spool_is_lost(struct spool *s)
{
	int moved = 0;

	if (s->overwritten)
		return true;
	sqlite3_file_control(s->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
	return moved;
}

/* A write to a file that nobody will open again would be kept nowhere. */
static int check_place(struct spool *s, struct fault *f)
{
	if (!spool_is_lost(s))
		return 0;
	return fault_set(f, FAULT_CONFLICT, "", "the guest's spool is %s",
			 s->overwritten ? "written over" : "gone from its folder");
}

int spool_run(struct spool *s, sqlite3_stmt *st, struct fault *f)
{
	int rc;

	if (sqlite3_get_autocommit(s->db) && check_place(s, f))
		return f->code;
	rc = step(s, st);
	if (rc != SQLITE_DONE && rc != SQLITE_ROW)
		broken(s, rc, f);
	sqlite3_reset(st);
	if (st)
		sqlite3_clear_bindings(st);
	return rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : f->code;
}

int spool_row(struct spool *s, sqlite3_stmt *st, struct fault *f)
{
	int rc = step(s, st);

	if (rc == SQLITE_ROW)
		return 1;
	return rc == SQLITE_DONE ? 0 : broken(s, rc, f);
}

const char *spool_text(sqlite3_stmt *st, int i, struct arena *a)
{
	const char *s = (const char *)sqlite3_column_text(st, i);

	return arena_strndup(a, s ? s : "", (size_t)sqlite3_column_bytes(st, i));
}

int spool_begin(struct spool *s, struct fault *f)
{
	return spool_run(s, spool_get(s, SPOOL_BEGIN, NULL), f);
}

int spool_end(struct spool *s, bool ok, struct fault *f)
{
	struct fault ignored = { 0 };
	int rc = ok ? spool_run(s, spool_get(s, SPOOL_COMMIT, NULL), f) : 0;

	if (!sqlite3_get_autocommit(s->db))
		spool_run(s, spool_get(s, SPOOL_ROLLBACK, NULL), &ignored);
	return rc;
}

/* --- opening -------------------------------------------------------------------- */

static int execute(struct spool *s, const char *sql, struct fault *f)
{
	int rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : broken(s, rc, f);
}

static int connect(struct spool *s, const char *path, struct fault *f)
{
	/* SQLite gives -wal and -shm the mode of the file. */
	mode_t old = umask(0177);
	int rc = sqlite3_open_v2(
		path, &s->db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);

	if (rc != SQLITE_OK)
		broken(s, rc, f);
	sqlite_defend(s->db);
	if (rc == SQLITE_OK)
		rc = execute(s, pragmas, f);
	umask(old);
	sqlite3_busy_timeout(s->db, 2000);
	return rc == SQLITE_OK ? 0 : f->code;
}

static int read_version(struct spool *s, int *version, struct fault *f)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(s->db, "PRAGMA user_version", -1, &st, NULL);

	if (rc != SQLITE_OK)
		return broken(s, rc, f);
	rc = spool_row(s, st, f);
	*version = rc == 1 ? sqlite3_column_int(st, 0) : 0;
	sqlite3_finalize(st);
	return rc < 0 ? rc : 0;
}

static int make_identity(struct spool *s, struct fault *f)
{
	unsigned char r[IDENTITY_BYTES];

	if (getrandom(r, sizeof(r), 0) != sizeof(r))
		return fault_set(f, FAULT_IO, "", "no randomness");
	for (size_t i = 0; i < sizeof(r); i++)
		snprintf(s->identity + 2 * i, 3, "%02x", r[i]);
	return 0;
}

/* Writes the only row of the table `spool`: owner, identity, restores, seq. */
static int write_self(struct spool *s, struct fault *f)
{
	sqlite3_stmt *st = NULL;
	int rc;

	sqlite3_prepare_v2(s->db,
			   "INSERT OR REPLACE INTO spool (one, workspace, identity,"
			   " restores, seq) VALUES (1, ?1, ?2, ?3, ?4)",
			   -1, &st, NULL);
	sqlite3_bind_text(st, 1, s->owner, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 2, s->identity, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 3, s->restores);
	sqlite3_bind_int64(st, 4, s->seq);
	rc = spool_run(s, st, f);
	sqlite3_finalize(st);
	return rc;
}

/* A new identity: `sql` makes the tables, or empties them. */
static int begin_anew(struct spool *s, const char *sql, struct fault *f)
{
	char identity[sizeof(s->identity)];
	int64_t seq = s->seq;
	int rc;

	memcpy(identity, s->identity, sizeof(identity));
	rc = make_identity(s, f);
	s->seq = 0;
	if (!rc && !(rc = spool_begin(s, f))) {
		rc = execute(s, sql, f);
		if (!rc)
			rc = write_self(s, f);
		if (spool_end(s, !rc, f))
			rc = f->code;
	}
	if (!rc)
		spool_witness_write(s->dir, s->identity, s->seq);
	if (rc) { /* the one on the disk is as before */
		memcpy(s->identity, identity, sizeof(s->identity));
		s->seq = seq;
	}
	return rc;
}

static int make(struct spool *s, const char *sql, const struct spool_place *place,
		struct fault *f)
{
	if (*place->workspace)
		snprintf(s->owner, sizeof(s->owner), "%s", place->workspace);
	s->restores = place->restores < 0 ? 0 : place->restores;
	return begin_anew(s, sql, f);
}

int spool_renew(struct spool *s, struct fault *f)
{
	return begin_anew(s, empty, f);
}

static int read_self(struct spool *s, struct fault *f)
{
	sqlite3_stmt *st = NULL;
	struct arena a = { 0 };
	int rc = sqlite3_prepare_v2(
		s->db, "SELECT workspace, identity, restores, seq FROM spool", -1, &st,
		NULL);

	if (rc != SQLITE_OK)
		return broken(s, rc, f);
	rc = spool_row(s, st, f);
	snprintf(s->owner, sizeof(s->owner), "%s",
		 rc == 1 ? spool_text(st, 0, &a) : "unknown");
	snprintf(s->identity, sizeof(s->identity), "%s",
		 rc == 1 ? spool_text(st, 1, &a) : "");
	s->restores = rc == 1 ? sqlite3_column_int64(st, 2) : 0;
	s->seq = rc == 1 ? sqlite3_column_int64(st, 3) : 0;
	sqlite3_finalize(st);
	arena_release(&a);
	return rc < 0 ? rc : 0;
}

static int upgrade(struct spool *s, int version, struct fault *f)
{
	int rc = spool_begin(s, f);

	if (rc)
		return rc;
	if (version < 2)
		rc = execute(s, identify, f);
	if (!rc)
		rc = execute(s, number, f);
	return spool_end(s, !rc, f) ? f->code : rc;
}

static void disconnect(struct spool *s)
{
	for (int i = 0; i < SPOOL_STATEMENTS; i++)
		sqlite3_finalize(s->statements[i]);
	memset(s->statements, 0, sizeof(s->statements));
	sqlite3_close(s->db);
	s->db = NULL;
}

/* The last connection's close has written the WAL back, so that the file alone
 * is the whole spool. */
static int set_aside(struct spool *s, const char *path, struct arena *a, struct fault *f)
{
	disconnect(s);
	if (rename(path, arena_printf(a, "%s.%.64s", path, s->owner)) == 0 &&
	    dir_sync_above(path) == 0)
		return connect(s, path, f);
	return fault_set(f, FAULT_IO, "", "cannot set %s aside: %s", path,
			 strerror(errno));
}

/* What is there, of this or an older version; `path` is where. */
static int read_spool(struct spool *s, const char *path, int version, struct fault *f)
{
	int rc = 0;

	if (version > VERSION)
		return fault_set(f, FAULT_CONFLICT, "", "%s is of a newer version (%d)",
				 path, version);
	if (version < VERSION)
		rc = upgrade(s, version, f);
	return rc ? rc : read_self(s, f);
}

/* Goes on with a spool that is this workspace's or nobody's: empties it if the workspace
 * was put back to a snapshot since, gives it an identity if it has none, and an owner if
 * it has none. */
static int keep(struct spool *s, const struct spool_place *place, struct fault *f)
{
	int rc = 0;

	if (place->restores >= 0 && place->restores != s->restores)
		return make(s, empty, place, f);
	if (!*s->identity && !(rc = make_identity(s, f)))
		rc = write_self(s, f);
	if (!rc && !*s->owner && *place->workspace)
		rc = spool_adopt(s, place->workspace, f);
	return rc;
}

/* Checks version, owner and restores of the spool that is there, or makes one. */
static int settle(struct spool *s, const char *path, const struct spool_place *place,
		  struct arena *a, struct fault *f)
{
	int version = 0, rc = read_version(s, &version, f);

	if (rc)
		return rc;
	if (version == 0)
		return make(s, shape, place, f);
	if ((rc = read_spool(s, path, version, f)))
		return rc;
	if (!*place->workspace || !*s->owner || !strcmp(s->owner, place->workspace))
		return keep(s, place, f);
	rc = set_aside(s, path, a, f);
	return rc ? rc : make(s, shape, place, f);
}

const char *spool_identity(const struct spool *s)
{
	return s->identity;
}

int64_t spool_seq(const struct spool *s)
{
	return s->seq;
}

/* Goes on from the number that this guest knows: with another one in the file, an older
 * copy was written over it. */
static int count_on(struct spool *s, struct fault *f)
{
	sqlite3_stmt *st = spool_get(s, SPOOL_SEQ, s->identity);

	sqlite3_bind_int64(st, 2, s->seq);
	if (spool_run(s, st, f))
		return f->code;
	if (sqlite3_changes(s->db) == 1)
		return 0;
	s->overwritten = true;
	return check_place(s, f);
}

int spool_end_counted(struct spool *s, bool ok, struct fault *f)
{
	int rc = ok ? count_on(s, f) : 0;

	if (spool_end(s, ok && !rc, f) || rc)
		return f->code;
	if (ok)
		spool_witness_write(s->dir, s->identity, ++s->seq);
	return 0;
}

const char *spool_owner(const struct spool *s)
{
	return s->owner;
}

int spool_adopt(struct spool *s, const char *workspace, struct fault *f)
{
	sqlite3_stmt *st = NULL;
	int rc;

	sqlite3_prepare_v2(s->db, "UPDATE spool SET workspace = ?1", -1, &st, NULL);
	sqlite3_bind_text(st, 1, workspace, -1, SQLITE_STATIC);
	rc = spool_run(s, st, f);
	sqlite3_finalize(st);
	if (!rc)
		snprintf(s->owner, sizeof(s->owner), "%s", workspace);
	return rc;
}

/* In an older copy commands may wait that have begun since the copy was made. */
static int compare_witness(struct spool *s, struct fault *f)
{
	struct spool_witness w;
	bool is_there = spool_witness_read(s->dir, &w);

	if (is_there && (strcmp(w.identity, s->identity) != 0 || w.seq > s->seq))
		return begin_anew(s, empty, f);
	if (!is_there || w.seq < s->seq)
		spool_witness_write(s->dir, s->identity, s->seq);
	return 0;
}

/* What ran when the guest ended has failed, and is never run again. */
static int recover(struct spool *s, int64_t now, struct fault *f)
{
	int rc = spool_begin(s, f);
	sqlite3_stmt *st;

	if (rc)
		return rc;
	st = spool_get(s, SPOOL_INTERRUPT, NULL);
	sqlite3_bind_int64(st, 1, now);
	rc = spool_run(s, st, f);
	if (!rc)
		rc = spool_run(s, spool_get(s, SPOOL_STARTED_GONE, NULL), f);
	st = spool_get(s, SPOOL_PRUNE, NULL);
	sqlite3_bind_int64(st, 1, now - KNOWN_FOR);
	if (!rc)
		rc = spool_run(s, st, f);
	return spool_end(s, !rc, f) ? f->code : rc;
}

int spool_open(struct spool **out, const struct spool_place *place, int64_t now,
	       struct fault *f)
{
	struct spool_place at = { place->dir, place->workspace ? place->workspace : "",
				  place->restores };
	struct spool *s = xcalloc(1, sizeof(*s));
	struct arena a = { 0 };
	const char *path = arena_printf(&a, "%s/spool.db", at.dir);
	int rc;

	snprintf(s->dir, sizeof(s->dir), "%s", at.dir);
	rc = connect(s, path, f);
	if (!rc)
		rc = settle(s, path, &at, &a, f);
	if (!rc)
		rc = compare_witness(s, f);
	if (!rc)
		rc = recover(s, now, f);
	if (!rc)
		*out = s;
	else
		spool_close(s);
	arena_release(&a);
	return rc;
}

void spool_close(struct spool *s)
{
	if (!s)
		return;
	disconnect(s);
	free(s);
}

void spool_fail(struct spool *s, long after, int sqlite_result)
{
	s->fail_after = after;
	s->fail_with = sqlite_result;
}
