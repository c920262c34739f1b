#include "storage/search/search.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "storage/defend.h"
#include "storage/store_inside.h"
#include "storage/search/search_inside.h"
#include "storage/words.h"

enum {
	BUSY_MS = 20, /* how long to wait for another process that indexes */
	WAL_FRAMES = 1000, /* number of frames after which the WAL is copied, as in
			      SQLite */
	WAL_AGAIN = 250, /* frames until the next try, if a copy has failed */
};

extern const struct statement search_statement_table[];

/* --- the database ------------------------------------------------------------------- */

/* Whether another process indexes.  A busy index is not a failure. */
bool search_is_busy(int rc)
{
	return (rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_LOCKED;
}

int search_failed(struct search *s, int rc, const char *what, struct fault *f)
{
	fault_set(f, FAULT_UNAVAILABLE, "", "cannot %s the search index: %s", what,
		  s->side.db ? sqlite3_errmsg(s->side.db) : sqlite3_errstr(rc));
	if (search_is_busy(rc))
		return fault_hint(f,
				  "another program keeps search.db in the state folder "
				  "locked: end it, then repeat");
	return fault_hint(f, "remove search.db in the state folder: it is made again");
}

int search_ended(struct search *s, int rc, struct fault *f)
{
	if (rc == SQLITE_ERROR) {
		fault_set(f, FAULT_INVALID, "/query", "%s", sqlite3_errmsg(s->side.db));
		fault_hint(f, "put \"quotes\" around text that is not a word");
	} else if (rc != SQLITE_DONE && rc != SQLITE_ROW) {
		search_failed(s, rc, "read", f);
	}
	return f->code;
}

int search_mark(struct search *s)
{
	s->marked = true;
	return SIDE_RUN(&s->side, index_mark, .boot = s->boot);
}

static void search_disconnect(struct search *s)
{
	s->parts = false;
	if (s->words)
		s->tokenizer.xDelete(s->words);
	s->words = NULL;
	side_close(&s->side);
}

int search_make(struct search *s)
{
	int rc = side_exec(&s->side, search_schema);

	return rc ? rc : side_exec(&s->side, search_schema_vault);
}

/* Makes the tables, unless another process has just made them.  Existing tables are opened
 * without a lock, since another process may hold the lock. */
static int make_tables(struct search *s)
{
	int version = -1, rc = side_version(&s->side, &version);

	if (rc || version == SEARCH_VERSION)
		return rc;
	if ((rc = SIDE_RUN(&s->side, index_begin)) ||
	    (rc = side_version(&s->side, &version)) ||
	    (version != SEARCH_VERSION && (rc = search_make(s))))
		return rc;
	return SIDE_RUN(&s->side, index_commit);
}

static int search_count_frames(void *search, sqlite3 *db, const char *schema, int frames)
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
		s->path ? s->path : ":memory:", &s->side.db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc)
		return rc;
	sqlite_defend(s->side.db);
	sqlite3_extended_result_codes(s->side.db, 1);
	/* While a process makes the index, the process waits up to `patience_ms` for other
	 * processes. A process that adds rows waits at most BUSY_MS. */
	sqlite3_busy_timeout(s->side.db, patience_ms);
	if ((rc = side_exec(&s->side, SQL_SEARCH)) || (rc = make_tables(s)) ||
	    (rc = search_words_open(s)))
		return rc;
	sqlite3_busy_timeout(s->side.db, BUSY_MS);
	sqlite3_wal_hook(s->side.db, search_count_frames, s);
	s->wal_due = WAL_FRAMES;
	return SQLITE_OK;
}

/* Copies the WAL into search.db, and waits at most BUSY_MS until no search reads the WAL.
 * SQLite's own checkpoint never waits for reads. With many searches some reads are always
 * running, so the WAL would never begin anew. If a search still reads the WAL after the wait,
 * the WAL is copied WAL_AGAIN frames later. */
void search_copy_wal(struct search *s)
{
	if (s->wal_frames < s->wal_due)
		return;
	s->wal_due = WAL_FRAMES;
	if (sqlite3_wal_checkpoint_v2(s->side.db, NULL, SQLITE_CHECKPOINT_RESTART, NULL,
				      NULL))
		s->wal_due = s->wal_frames + WAL_AGAIN;
}

void search_throw_away(struct search *s)
{
	static const char *const parts[] = { "", "-wal", "-shm" };
	char path[4200];

	search_disconnect(s);
	for (int i = 0; s->path && i < 3; i++) {
		snprintf(path, sizeof(path), "%s%s", s->path, parts[i]);
		unlink(path);
	}
}

bool search_is_damage(int rc)
{
	return (rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB;
}

static void search_read_boot(char out[37])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, out, 36) : 0;

	out[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

/* Connects, and tries again up to the time `until`. Many processes may make the index at once,
 * and SQLite does not wait for a lock when SQLite switches WAL mode on. */
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
		search_disconnect(s);
		nanosleep(&pause, NULL);
	}
}

/* Whether this process may make search.db in the folder `dir`. An index that root made in
 * another user's state could not be opened by that user. */
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
	s->side = (struct side_db){ .table = search_statement_table,
				    .prepared = s->prepared,
				    .n = SEARCH_SQL_COUNT };
	search_read_boot(s->boot);
	rc = connect_by(s, clock_steady_ms() + SEARCH_OPEN_MS);
	if (rc != SQLITE_OK) {
		search_failed(s, rc, "open", f);
		search_close(s);
		return f->code;
	}
	*out = s;
	return 0;
}

int search_check(const char *dir, struct fault *f)
{
	sqlite3 *db = NULL;
	char path[4200];
	int rc;

	snprintf(path, sizeof(path), "%s/search.db", dir);
	rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc == SQLITE_OK) {
		sqlite_defend(db);
		sqlite3_busy_timeout(db, SEARCH_OPEN_MS);
		store_check_db(db, f);
		rc = sqlite3_errcode(db);
	}
	/* A missing search.db is not damaged. If search.db is busy, another process is able to
	 * read the file. */
	if (rc == SQLITE_CANTOPEN || search_is_busy(rc))
		*f = (struct fault){ 0 };
	sqlite3_close(db);
	return f->code;
}

/* Clears the mark (`boot`), so that the index stays valid when the machine goes down. The write
 * of index_touch makes a checkpoint sync search.db, including the pages that were copied
 * before. */
static void unmark(struct search *s)
{
	if (side_exec(&s->side, SQL_SYNC_FULL) == SQLITE_OK &&
	    SIDE_RUN(&s->side, index_touch) == SQLITE_OK &&
	    sqlite3_wal_checkpoint_v2(s->side.db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL,
				      NULL) == SQLITE_OK)
		SIDE_RUN(&s->side, index_mark, .boot = "");
}

void search_close(struct search *s)
{
	if (!s)
		return;
	if (s->side.db && s->marked && s->path)
		unmark(s);
	search_disconnect(s);
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

/* --- searching ---------------------------------------------------------------------------------- */

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

static int start_find(struct search *s, const struct search_scope *scope,
		      const char *match, int *id)
{
	struct side_db *d = &s->side;

	switch (scope->place) {
	case SEARCH_MESSAGES:
		*id = sql_index_find_message;
		return SIDE_START(d, index_find_message, .match = match,
				  .before = scope->before, .limit = scope->limit);
	case SEARCH_TITLES:
		*id = sql_index_find_title;
		return SIDE_START(d, index_find_title, .match = match,
				  .before = scope->before, .limit = scope->limit);
	case SEARCH_TASKS:
		*id = sql_index_find_task;
		return SIDE_START(d, index_find_task, .match = match,
				  .untitled = scope->untitled, .before = scope->before,
				  .limit = scope->limit);
	case SEARCH_NOTES:
		*id = sql_index_find_note;
		return SIDE_START(d, index_find_note, .match = match,
				  .before = scope->before, .limit = scope->limit);
	case SEARCH_PLACES:
		break;
	}
	return SQLITE_MISUSE;
}

int search_match(struct search *s, const struct search_query *q,
		 const struct search_scope *scope, int64_t *rows, struct fault *f)
{
	char *match = full_match(q, scope);
	struct index_hit_row hit;
	int n = 0, id = 0, rc = start_find(s, scope, match, &id);

	while (rc == SQLITE_OK || (rc == SQLITE_ROW && n < scope->limit)) {
		rc = side_next(&s->side, id, &hit, sizeof(hit), NULL);
		if (rc == SQLITE_ROW)
			rows[n++] = hit.id;
	}
	if (rc == SQLITE_ROW)
		side_end(&s->side, id);
	free(match);
	return search_ended(s, rc, f) ? (int)f->code : n;
}
