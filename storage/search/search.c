#include "storage/search/search.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "storage/defend.h"
#include "storage/inside.h"
#include "storage/search/search_inside.h"

enum {
	BUSY_MS = 20, /* patience with another process that indexes */
	WAL_FRAMES = 1000, /* it is copied then, as SQLite itself would, */
	WAL_AGAIN = 250, /* and after so many more if that was in vain */
};

/* `boot` is the machine's boot id while somebody has it open for writing: a
 * machine that went down meanwhile may have lost pages that were not synced. */
const char search_schema[] =
	"CREATE TABLE place (one INTEGER PRIMARY KEY CHECK (one = 1),"
	" version INTEGER NOT NULL, incarnation TEXT NOT NULL, boot TEXT NOT NULL,"
	" whole INTEGER NOT NULL, event INTEGER NOT NULL, message INTEGER NOT NULL,"
	" note INTEGER NOT NULL, task INTEGER NOT NULL) STRICT;"
	"CREATE TABLE task_body (id INTEGER PRIMARY KEY, team INTEGER NOT NULL,"
	" body TEXT NOT NULL) STRICT;"
	"CREATE VIRTUAL TABLE message_text USING fts5(scope, body, content='',"
	" columnsize=0, tokenize='unicode61 remove_diacritics 2');"
	"CREATE VIRTUAL TABLE task_text USING fts5(scope, body, content='',"
	" columnsize=0, tokenize='unicode61 remove_diacritics 2');"
	"CREATE VIRTUAL TABLE note_text USING fts5(scope, body, content='',"
	" columnsize=0, tokenize='unicode61 remove_diacritics 2');"
	"INSERT INTO message_text(message_text, rank) VALUES ('usermerge', 2);"
	"INSERT INTO task_text(task_text, rank) VALUES ('usermerge', 2);"
	"INSERT INTO note_text(note_text, rank) VALUES ('usermerge', 2);"
	"INSERT INTO place VALUES (1, 0, '', '', 0, 0, 0, 0, 0);";

const char search_drop[] = "DROP TABLE IF EXISTS place; DROP TABLE IF EXISTS task_body;"
			   "DROP TABLE IF EXISTS message_text;"
			   "DROP TABLE IF EXISTS task_text;"
			   "DROP TABLE IF EXISTS note_text;";

#define NOTE_COLUMNS "SELECT n.path, n.ino, n.mtime, n.size FROM "
#define NOTE_TAGGED                                        \
	"(?1 IS NULL OR EXISTS (SELECT 1 FROM vault_tag t" \
	" WHERE t.doc = n.doc AND t.tag = ?1))"            \
	" ORDER BY n.mtime DESC, n.path"
#define FIND(table)                                                \
	"SELECT rowid FROM " table " WHERE " table " MATCH :match" \
	" AND rowid < :before ORDER BY rowid DESC LIMIT :limit"
#define ADD(table) "INSERT INTO " table "(rowid, scope, body) VALUES (?1, ?2, ?3)"
/* Each transaction leaves a part of the index behind, and a search looks into all of
 * them.  A merge joins parts of one size, 16 pages at a time. */
#define MERGE(table) "INSERT INTO " table "(" table ", rank) VALUES ('merge', 16)"

static const char *const texts[SEARCH_SQL_COUNT] = {
	[SEARCH_BEGIN] = "BEGIN IMMEDIATE",
	[SEARCH_COMMIT] = "COMMIT",
	[SEARCH_ROLLBACK] = "ROLLBACK",
	[SEARCH_CURSOR] = "SELECT version, incarnation, boot, whole, event, message,"
			  " note, task FROM place WHERE one = 1",
	[SEARCH_ADVANCE] = "UPDATE place SET version = ?1, incarnation = ?2, boot = ?3,"
			   " whole = ?4, event = ?5, message = ?6, note = ?7, task = ?8",
	[SEARCH_ADD + SEARCH_MESSAGES] = ADD("message_text"),
	[SEARCH_ADD + SEARCH_TASKS] = ADD("task_text"),
	[SEARCH_ADD + SEARCH_NOTES] = ADD("note_text"),
	[SEARCH_FIND + SEARCH_MESSAGES] = FIND("message_text"),
	[SEARCH_FIND + SEARCH_TASKS] = FIND("task_text"),
	[SEARCH_FIND + SEARCH_NOTES] = FIND("note_text"),
	[SEARCH_MERGE + SEARCH_MESSAGES] = MERGE("message_text"),
	[SEARCH_MERGE + SEARCH_TASKS] = MERGE("task_text"),
	[SEARCH_MERGE + SEARCH_NOTES] = MERGE("note_text"),
	/* A contentless table is told what it holds to be rid of it. */
	[SEARCH_FORGET_TASK] = "INSERT INTO task_text(task_text, rowid, scope, body)"
			       " VALUES ('delete', ?1, ?2, ?3)",
	[SEARCH_OLD_TASK] = "SELECT body FROM task_body WHERE id = ?1",
	[SEARCH_KEEP_TASK] = "INSERT OR REPLACE INTO task_body(id, team, body)"
			     " VALUES (?1, ?2, ?3)",
	[SEARCH_VAULT_ALL] = NOTE_COLUMNS "vault_note n ORDER BY n.path",
	[SEARCH_VAULT_OWN] = NOTE_COLUMNS
	"vault_note n WHERE n.mirrored = 0 ORDER BY n.path",
	[SEARCH_VAULT_LIST] = NOTE_COLUMNS "vault_note n WHERE " NOTE_TAGGED,
	[SEARCH_VAULT_MATCH] = NOTE_COLUMNS
	"vault_text x JOIN vault_note n ON n.doc = x.rowid"
	" WHERE vault_text MATCH ?2 AND " NOTE_TAGGED,
	[SEARCH_VAULT_TAGS] = "SELECT t.tag, n.path FROM vault_tag t"
			      " JOIN vault_note n ON n.doc = t.doc ORDER BY t.tag",
	[SEARCH_VAULT_ADD] = "INSERT INTO vault_note(path, ino, mtime, size, mirrored)"
			     " VALUES (?1, ?2, ?3, ?4, ?5)",
	[SEARCH_VAULT_TEXT] = "INSERT INTO vault_text(rowid, scope, body)"
			      " VALUES (?1, ?3, ?2)",
	[SEARCH_VAULT_TAG] = "INSERT OR IGNORE INTO vault_tag(doc, tag) VALUES (?1, ?2)",
	[SEARCH_VAULT_UNTAG] = "DELETE FROM vault_tag WHERE doc ="
			       " (SELECT doc FROM vault_note WHERE path = ?1)",
	[SEARCH_VAULT_DROP] = "DELETE FROM vault_note WHERE path = ?1",
	[SEARCH_VAULT_STALE] = "SELECT coalesce(max(doc), 0) - 3 * count(*)"
			       " FROM vault_note",
	[SEARCH_MARK] = "UPDATE place SET boot = ?1",
};

/* --- the database ------------------------------------------------------------------- */

/* Busy: another process indexes; it is not a failure. */
bool search_is_busy(int rc)
{
	return (rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_LOCKED;
}

int search_failed(struct search *s, int rc, const char *what, struct fault *f)
{
	fault_set(f, FAULT_UNAVAILABLE, "", "cannot %s the search index: %s", what,
		  s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(rc));
	if (search_is_busy(rc))
		return fault_hint(f,
				  "another program keeps search.db in the state folder "
				  "locked: end it, then repeat");
	return fault_hint(f, "remove search.db in the state folder: it is made anew");
}

sqlite3_stmt *search_stmt(struct search *s, int id)
{
	if (!s->stmts[id])
		sqlite3_prepare_v3(s->db, texts[id], -1, SQLITE_PREPARE_PERSISTENT,
				   &s->stmts[id], NULL);
	return s->stmts[id];
}

/* Runs a statement that gives no rows, bound already. */
int search_run(struct search *s, int id)
{
	sqlite3_stmt *st = search_stmt(s, id);
	int rc = st ? sqlite3_step(st) : sqlite3_errcode(s->db);

	if (st)
		sqlite3_reset(st);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

void search_bind(sqlite3_stmt *st, int at, const char *text)
{
	sqlite3_bind_text(st, at, text, -1, SQLITE_STATIC);
}

int search_mark(struct search *s)
{
	sqlite3_stmt *st = search_stmt(s, SEARCH_MARK);

	if (st)
		search_bind(st, 1, s->boot);
	s->marked = true;
	return search_run(s, SEARCH_MARK);
}

static void disconnect(struct search *s)
{
	s->parts = false;
	for (int i = 0; i < SEARCH_SQL_COUNT; i++) {
		sqlite3_finalize(s->stmts[i]);
		s->stmts[i] = NULL;
	}
	if (s->words)
		s->tokenizer.xDelete(s->words);
	s->words = NULL;
	sqlite3_close(s->db);
	s->db = NULL;
}

int search_exec(struct search *s, const char *sql)
{
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL);
}

int search_make(struct search *s)
{
	static const char *const all[] = { search_drop, search_vault_drop, search_schema,
					   search_vault_schema };
	int rc = SQLITE_OK;

	for (int i = 0; i < 4 && rc == SQLITE_OK; i++)
		rc = search_exec(s, all[i]);
	return rc;
}

/* Whether the tables are there: 1 or 0, or the negative of a result. */
static int is_made(struct search *s)
{
	sqlite3_stmt *st = NULL;
	int version = -1, rc;

	if ((rc = sqlite3_prepare_v2(s->db, "PRAGMA user_version", -1, &st, NULL)))
		return -rc;
	if ((rc = sqlite3_step(st)) == SQLITE_ROW)
		version = sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	return rc == SQLITE_ROW ? version == SEARCH_VERSION : -rc;
}

/* Makes the tables unless somebody else just did.  What is made already is opened
 * without a lock that another one may hold. */
static int make_tables(struct search *s)
{
	char made[60];
	int rc = is_made(s);

	if (rc)
		return rc < 0 ? -rc : SQLITE_OK;
	if ((rc = search_exec(s, "BEGIN IMMEDIATE")))
		return rc;
	if ((rc = is_made(s)) < 0)
		return -rc;
	snprintf(made, sizeof(made), "PRAGMA user_version=%d", SEARCH_VERSION);
	if (rc == 0 && ((rc = search_make(s)) || (rc = search_exec(s, made))))
		return rc;
	return search_exec(s, "COMMIT");
}

static int count_frames(void *search, sqlite3 *db, const char *schema, int frames)
{
	(void)db;
	(void)schema;
	((struct search *)search)->wal_frames = frames;
	return SQLITE_OK;
}

int search_connect(struct search *s, int patience_ms)
{
	int rc;

	if (s->path && mknod(s->path, S_IFREG | 0600, 0) < 0 && errno != EEXIST)
		return SQLITE_CANTOPEN;
	rc = sqlite3_open_v2(
		s->path ? s->path : ":memory:", &s->db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc)
		return rc;
	sqlite_defend(s->db);
	sqlite3_extended_result_codes(s->db, 1);
	/* Making it is worth a wait; indexing is not. */
	sqlite3_busy_timeout(s->db, patience_ms);
	if ((rc = search_exec(s, "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
				 "PRAGMA cache_size=-1024")) ||
	    (rc = make_tables(s)) || (rc = search_words_open(s)))
		return rc;
	sqlite3_busy_timeout(s->db, BUSY_MS);
	sqlite3_wal_hook(s->db, count_frames, s);
	s->wal_due = WAL_FRAMES;
	return SQLITE_OK;
}

/* SQLite's own checkpoint never waits for reads, of which with many searches some always
 * runs, and so the WAL would never start anew.  This one waits for them; where it waits in
 * vain it is tried again WAL_AGAIN frames later. */
void search_copy_wal(struct search *s)
{
	if (s->wal_frames < s->wal_due)
		return;
	s->wal_due = WAL_FRAMES;
	if (sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_RESTART, NULL, NULL))
		s->wal_due = s->wal_frames + WAL_AGAIN;
}

void search_throw_away(struct search *s)
{
	static const char *const parts[] = { "", "-wal", "-shm" };
	char path[4200];

	disconnect(s);
	for (int i = 0; s->path && i < 3; i++) {
		snprintf(path, sizeof(path), "%s%s", s->path, parts[i]);
		unlink(path);
	}
}

bool search_is_damage(int rc)
{
	return (rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB;
}

static void read_boot(char out[37])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, out, 36) : 0;

	out[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

/* Many may make it at once, and turning the WAL on does not wait. */
static int connect_by(struct search *s, int64_t until)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	bool threw = false;

	for (;;) {
		int64_t left = until - clock_steady_ms();
		int rc = search_connect(s, left > 0 ? (int)left : 0);

		if (search_is_damage(rc) && !threw) {
			search_throw_away(s);
			threw = true;
			continue;
		}
		if (!search_is_busy(rc) || clock_steady_ms() >= until)
			return rc;
		disconnect(s);
		nanosleep(&pause, NULL);
	}
}

/* An index that root makes in another user's state would be closed to that user. */
static bool may_keep(const char *dir)
{
	char path[4200];
	struct stat st;

	snprintf(path, sizeof(path), "%s/search.db", dir);
	return !lstat(path, &st) || stat(dir, &st) || st.st_uid == geteuid();
}

int search_open(struct search **out, const char *dir, struct fault *f)
{
	struct search *s = xcalloc(1, sizeof(*s));
	int rc;

	if (dir && may_keep(dir))
		s->path = xasprintf("%s/search.db", dir);
	read_boot(s->boot);
	rc = connect_by(s, clock_steady_ms() + SEARCH_OPEN_MS);
	if (rc != SQLITE_OK) {
		search_failed(s, rc, "open", f);
		search_close(s);
		return f->code;
	}
	*out = s;
	return 0;
}

/* Copies all of the WAL into the file and syncs it, unless others read it. */
static bool checkpoint(struct search *s)
{
	sqlite3_stmt *st = NULL;
	bool done = false;

	if (sqlite3_prepare_v2(s->db, "PRAGMA wal_checkpoint(TRUNCATE)", -1, &st, NULL) ==
	    SQLITE_OK)
		done = sqlite3_step(st) == SQLITE_ROW && sqlite3_column_int(st, 0) == 0;
	sqlite3_finalize(st);
	return done;
}

/* Says that the machine may go down without harm.  The first write is there to
 * have a checkpoint sync the file, pages that were copied before included. */
static void unmark(struct search *s)
{
	if (search_exec(s, "PRAGMA synchronous=FULL; UPDATE place SET boot = boot") ==
		    SQLITE_OK &&
	    checkpoint(s))
		search_exec(s, "UPDATE place SET boot = ''");
}

void search_close(struct search *s)
{
	if (!s)
		return;
	if (s->db && s->marked && s->path)
		unmark(s);
	disconnect(s);
	free(s->path);
	free(s);
}

struct search *store_search(struct store *store, struct fault *f)
{
	if (!store->search)
		search_open(&store->search,
			    store->flags & STORE_MEMORY ? NULL : store->dir, f);
	return store->search;
}

/* --- looking ------------------------------------------------------------------------------------ */

static char *full_match(const struct search_query *q, const struct search_scope *scope)
{
	char team[40] = "", agent[80] = "";

	if (scope->team)
		snprintf(team, sizeof(team), "scope : \"t%" PRId64 "\" AND ",
			 scope->team);
	if (scope->agent && scope->place == SEARCH_MESSAGES)
		snprintf(agent, sizeof(agent),
			 "scope : (\"a%" PRId64 "\" OR \"all\") AND ", scope->agent);
	return xasprintf("%s%sbody : %s", team, agent, q->match);
}

int search_match(struct search *s, const struct search_query *q,
		 const struct search_scope *scope, int64_t *rows, struct fault *f)
{
	sqlite3_stmt *st = search_stmt(s, SEARCH_FIND + scope->place);
	char *match = full_match(q, scope);
	int n = 0, rc;

	if (!st) {
		free(match);
		return search_failed(s, sqlite3_errcode(s->db), "read", f);
	}
	search_bind(st, 1, match);
	sqlite3_bind_int64(st, 2, scope->before);
	sqlite3_bind_int64(st, 3, scope->limit);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW && n < scope->limit)
		rows[n++] = sqlite3_column_int64(st, 0);
	if (rc == SQLITE_ERROR) {
		fault_set(f, FAULT_INVALID, "/query", "%s", sqlite3_errmsg(s->db));
		fault_hint(f, "put what is not a word in \"quotes\"");
	} else if (rc != SQLITE_DONE && rc != SQLITE_ROW) {
		search_failed(s, rc, "read", f);
	}
	sqlite3_reset(st);
	free(match);
	return f->code ? (int)f->code : n;
}
