/* store - opens the connection of a store, and runs transactions. Begin to read the code at
 * store_open(). */
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "storage/defend.h"
#include "storage/durable.h"
#include "storage/ground.h"
#include "storage/store_inside.h"
#include "storage/store_restore.h"
#include "storage/search/search.h"
#include "storage/wal_vfs.h"
#include "storage/words.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_HOST = 1 }; /* row number of the only host of a state */
/* The longest time to wait for the lock of a person's `sqlite3`. The writers of cadre take
 * turns, and need no such wait. */
enum { BUSY_MS = 10000 };

/* --- faults ------------------------------------------------------------------- */

static const struct {
	int result;
	enum fault_code code;
	const char *text;
} results[] = {
	{ SQLITE_FULL, FAULT_UNAVAILABLE, "the disk is full" },
	{ SQLITE_IOERR, FAULT_UNAVAILABLE, "the disk failed to read or write" },
	{ SQLITE_NOMEM, FAULT_UNAVAILABLE, "there is no memory" },
	{ SQLITE_BUSY, FAULT_UNAVAILABLE, "another program keeps the state file locked" },
	{ SQLITE_LOCKED, FAULT_UNAVAILABLE, "the state is locked" },
	{ SQLITE_PROTOCOL, FAULT_UNAVAILABLE, "the state is locked" },
	{ SQLITE_INTERRUPT, FAULT_UNAVAILABLE, "it was interrupted" },
	{ SQLITE_ABORT, FAULT_UNAVAILABLE, "its transaction was dropped" },
	{ SQLITE_READONLY, FAULT_UNAVAILABLE, "the state file is read-only" },
	{ SQLITE_CANTOPEN, FAULT_UNAVAILABLE, "the state file cannot be opened" },
	{ SQLITE_PERM, FAULT_UNAVAILABLE, "the state file may not be opened" },
	{ SQLITE_CORRUPT, FAULT_IO, "the state file is damaged" },
	{ SQLITE_NOTADB, FAULT_IO, "the state file is not a database" },
};

int store_fault(const struct store *s, int rc, const char *what, struct fault *f)
{
	/* If a test made the step fail, the connection itself reports no error. */
	const char *said = s->db && sqlite3_extended_errcode(s->db) == rc
				   ? sqlite3_errmsg(s->db)
				   : sqlite3_errstr(rc);
	int err = s->db ? sqlite3_system_errno(s->db) : 0;

	for (size_t i = 0; i < sizeof(results) / sizeof(*results); i++)
		if (results[i].result == (rc & 0xff))
			return fault_set(f, results[i].code, "", "%s (%d%s%s)",
					 results[i].text, rc, err ? ": " : "",
					 err ? strerror(err) : "");
	return fault_set(f, FAULT_INTERNAL, "", "%s: %s (%d)", what, said, rc);
}

/* --- small statements ----------------------------------------------------------- */

static const char *const own_text[OWN_COUNT] = {
	[OWN_BEGIN_READ] = SQL_BEGIN_READ, [OWN_BEGIN_WRITE] = SQL_BEGIN_WRITE,
	[OWN_COMMIT] = SQL_COMMIT,         [OWN_ROLLBACK] = SQL_ROLLBACK,
	[OWN_SAVEPOINT] = SQL_SAVEPOINT,   [OWN_RELEASE] = SQL_RELEASE,
	[OWN_REWIND] = SQL_REWIND,         [OWN_DATA_VERSION] = SQL_DATA_VERSION,
	[OWN_VERSION] = SQL_VERSION,       [OWN_TABLES_VERSION] = SQL_TABLES_VERSION,
};

static int own_prepare(struct store *s, enum own id)
{
	if (!s->db)
		return SQLITE_CANTOPEN;
	if (s->own[id])
		return SQLITE_OK;
	return sqlite3_prepare_v3(s->db, own_text[id], -1, SQLITE_PREPARE_PERSISTENT,
				  &s->own[id], NULL);
}

static int own_run(struct store *s, enum own id)
{
	int rc = own_prepare(s, id);

	if (rc != SQLITE_OK)
		return rc;
	rc = store_step(s, s->own[id]);
	sqlite3_reset(s->own[id]);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Returns the number that a pragma returns, or -1 after a failure. */
static int64_t own_number(struct store *s, enum own id)
{
	int64_t n = -1;

	if (own_prepare(s, id) != SQLITE_OK)
		return -1;
	if (sqlite3_step(s->own[id]) == SQLITE_ROW)
		n = sqlite3_column_int64(s->own[id], 0);
	sqlite3_reset(s->own[id]);
	return n;
}

int store_exec(struct store *s, const char *sql, struct fault *f)
{
	int rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : store_fault(s, rc, sql, f);
}

int store_erases(struct store *s, bool on, struct fault *f)
{
	return store_exec(s, on ? SQL_DELETE_SECURE : SQL_DELETE_FAST, f);
}

int64_t store_number(struct store *s, const char *sql, struct fault *f)
{
	sqlite3_stmt *st = NULL;
	int64_t n = -1;
	int rc = store_db_first(s->db, sql, &st);

	if (rc == SQLITE_ROW)
		n = sqlite3_column_int64(st, 0);
	else
		store_fault(s, rc, sql, f);
	sqlite3_finalize(st);
	return n;
}

/* --- opening ---------------------------------------------------------------------- */

static void configure(void)
{
	/* The first setting keeps the journals of savepoints in memory; a savepoint then costs
	 * 3 us instead of 10. The second setting ends SQLite's memory statistics, so SQLite
	 * takes no lock around malloc(). */
	sqlite3_config(SQLITE_CONFIG_STMTJRNL_SPILL, -1);
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	sqlite3_initialize();
}

/* SQLite calls this function after COMMIT if the connection has STORE_NO_CHECKPOINT. */
static int store_count_frames(void *store, sqlite3 *db, const char *schema, int frames)
{
	struct store *s = store;

	(void)db;
	(void)schema;
	s->copied = generation_copied(s); /* 0 after a new start of the WAL */
	s->frames = frames;
	return SQLITE_OK;
}

static int connect_file(struct store *s, struct fault *f)
{
	int rc = sqlite3_open_v2(s->path, &s->db,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
					 (s->flags & STORE_MEMORY ? SQLITE_OPEN_MEMORY
								  : 0),
				 s->vfs);

	if (rc != SQLITE_OK)
		return store_fault(s, rc, "open", f);
	sqlite3_extended_result_codes(s->db, 1);
	sqlite3_busy_timeout(s->db, BUSY_MS);
	sqlite_defend(s->db);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	return 0;
}

/* Sets up a connection. The function is called after the migrations, since migrations need
 * other settings. */
static int tune(struct store *s, struct fault *f)
{
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
	/* Triggers may run from here on, since a file with foreign triggers was refused before. */
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 1, NULL);
	/* SQLite's automatic checkpoint runs inside COMMIT, while this process has the writer's
	 * turn. The limit of 4000 frames is twice the host's limit. So while a host runs, the
	 * host copies the WAL before this limit is reached. */
	if (s->flags & STORE_NO_CHECKPOINT)
		sqlite3_wal_hook(s->db, store_count_frames, s);
	else
		sqlite3_wal_autocheckpoint(s->db, 4000);
	/* The host's writer needs pages from all parts of a large state. With SQLite's usual
	 * cache of 2 MB, the writer would read these pages again and again. Without
	 * SQL_DELETE_FAST, Debian's SQLite would write additional pages to overwrite deleted
	 * data. */
	if (((s->flags & STORE_LARGE_CACHE) && store_exec(s, SQL_CACHE, f) < 0) ||
	    store_exec(s, SQL_NO_MMAP, f) < 0 || store_exec(s, SQL_DELETE_FAST, f) < 0 ||
	    store_exec(s, s->flags & STORE_NORMAL ? SQL_SYNC_NORMAL : SQL_SYNC_FULL, f) <
		    0)
		return f->code;
	return s->flags & STORE_READ ? store_exec(s, SQL_QUERY_ONLY, f) : 0;
}

/* Copies the WAL into the file, if this is the last connection that has the state open. After
 * the copy, the next connection finds an empty WAL, so the WAL does not grow. SQLite itself
 * would copy the WAL in sqlite3_close(), during which a person's `sqlite3` cannot read. SQLite
 * would also remove -wal and -shm. */
static void copy_wal(struct store *s)
{
	if (!ground_owes(s) || !writer_queue_last(&s->queue))
		return;
	sqlite3_busy_timeout(s->db, 0);
	sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	writer_queue_share(&s->queue);
}

static void store_disconnect(struct store *s)
{
	int rc;

	kept_forget(&s->kept);
	stmt_release_all(s);
	copy_wal(s);
	rc = sqlite3_close(s->db);
	assert(rc == SQLITE_OK);
	(void)rc;
	s->db = NULL;
	s->frames = s->copied = 0;
}

/* Replaces a connection by a new connection, after a failure that makes the old connection
 * unreliable. */
static int reconnect(struct store *s, struct fault *f)
{
	store_disconnect(s);
	if (ground_check(s, GROUND_PLACE, f) < 0)
		return f->code;
	if (connect_file(s, f) < 0 || ground_check(s, GROUND_READ, f) < 0 ||
	    tune(s, f) < 0 || ground_note(s, f) < 0) {
		store_disconnect(s);
		return f->code;
	}
	return 0;
}

static int open_under_lock(struct store *s, int dir, struct fault *f)
{
	if (place_make_state(s, dir, f) < 0 || connect_file(s, f) < 0 ||
	    ground_admit(s, f) < 0 || store_migrate(s, f) < 0 ||
	    (s->tables = store_number(s, SQL_TABLES_VERSION, f)) < 0 ||
	    schema_check(s, migration_count, f) < 0 || tune(s, f) < 0)
		return f->code;
	return ground_note(s, f);
}

static int open_in_memory(struct store *s, struct fault *f)
{
	if (connect_file(s, f) < 0 ||
	    (!(s->flags & STORE_BLANK) && store_migrate(s, f) < 0))
		return f->code;
	return tune(s, f);
}

static int store_open_place(struct store *s, struct fault *f)
{
	int dir;

	if (restore_finish(s->dir, f) < 0)
		return f->code;
	if (s->flags & STORE_CREATE &&
	    (mkdir(s->dir, 0700) ? errno != EEXIST : dir_sync_above(s->dir)))
		return fault_set(f, FAULT_UNAVAILABLE, "", "cannot make %s: %s", s->dir,
				 strerror(errno));
	dir = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0) {
		fault_set(f, errno == ENOENT ? FAULT_NOT_FOUND : FAULT_UNAVAILABLE, "",
			  "cannot open %s: %s", s->dir, strerror(errno));
		return fault_hint(f, "make a state with `cadre init`");
	}
	if (place_check(dir, s->dir, s->flags & STORE_CREATE, f) < 0 ||
	    writer_queue_open(&s->queue, dir, f) < 0 ||
	    writer_queue_lock(&s->queue, WRITER_QUEUE_OPEN, true, f) < 0)
		goto out;
	open_under_lock(s, dir, f);
	writer_queue_unlock(&s->queue, WRITER_QUEUE_OPEN);
out:
	close(dir);
	return f->code;
}

static struct store *store_new(const char *dir, unsigned flags, const char *vfs)
{
	struct store *s = xcalloc(1, sizeof(*s));

	s->flags = flags;
	s->host = FILE_HOST;
	s->queue = (struct writer_queue){ .lock = -1, .bell = -1 };
	s->dir = xstrdup(dir ? dir : "");
	s->vfs = xstrdup(vfs);
	s->path = flags & STORE_MEMORY ? xstrdup(":memory:")
				       : xasprintf("%s/state.db", dir);
	s->ground.wal_path = xasprintf("%s-wal", s->path);
	s->ground.shm_path = xasprintf("%s-shm", s->path);
	return s;
}

int store_open(struct store **out, const char *dir, unsigned flags, const char *vfs,
	       struct fault *f)
{
	/* A process configures SQLite once. `once` is the only global variable of the store. */
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct store *s;

	pthread_once(&once, configure);
	if (!vfs && !(flags & STORE_MEMORY) && store_vfs_chosen)
		vfs = store_vfs_chosen();
	s = store_new(dir, flags, wal_vfs_over(vfs));
	if (flags & STORE_MEMORY)
		open_in_memory(s, f);
	else
		store_open_place(s, f);
	if (f->code) {
		store_close(s);
		return f->code;
	}
	*out = s;
	return 0;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	if (s->db)
		store_rollback(s);
	search_close(s->search);
	store_disconnect(s);
	writer_queue_close(&s->queue);
	kept_release(&s->kept);
	ground_release(&s->ground);
	free(s->dir);
	free(s->path);
	free(s->vfs);
	free(s);
}

int64_t store_host(const struct store *s)
{
	return s->host;
}

/* --- transactions ------------------------------------------------------------------- */

static void store_leave(struct store *s)
{
	struct fault none = { 0 };

	if (s->lax && s->db && store_exec(s, SQL_SYNC_FULL, &none) < 0) {
		none = (struct fault){ 0 };
		reconnect(s, &none);
	}
	s->lax = false;
	if (s->writing)
		writer_queue_give(&s->queue);
	s->writing = false;
}

bool store_intact(const struct store *s)
{
	return s->db && !sqlite3_get_autocommit(s->db);
}

int64_t store_changes(const struct store *s)
{
	return s->db ? sqlite3_total_changes64(s->db) : 0;
}

/* The version of the data. Every commit of any connection changes this version. Inside a
 * transaction, returns the version of the data that the transaction reads. */
static uint32_t file_version(struct store *s)
{
	uint32_t version = 0;

	sqlite3_file_control(s->db, "main", SQLITE_FCNTL_DATA_VERSION, &version);
	return version;
}

/* Refuses a state if somebody has changed its tables or its version since this connection
 * opened the file. An added trigger would run in the next write. */
int store_look(struct store *s, struct fault *f)
{
	int64_t version, tables;

	if (s->flags & STORE_MEMORY)
		return 0;
	version = own_number(s, OWN_VERSION);
	tables = own_number(s, OWN_TABLES_VERSION);
	if (version < 0 || tables < 0)
		return store_fault(s, sqlite3_errcode(s->db), "look", f);
	if (version > migration_count)
		return store_refuse_newer(s, version, f);
	if (version < migration_count) {
		fault_set(f, FAULT_UNAVAILABLE, "",
			  "another program changed the version of %s from %d to %lld",
			  s->path, migration_count, (long long)version);
		return fault_hint(f, "set it back: sqlite3 %s '" SQL_VERSION " = %d'",
				  s->path, migration_count);
	}
	if (tables != s->tables && schema_check(s, migration_count, f) < 0)
		return f->code;
	s->tables = tables;
	return 0;
}

/* If another connection has committed since this connection's last commit, checks the tables
 * again and forgets the kept rows. The function is called inside a transaction that writes. */
static int notice_others(struct store *s, struct fault *f)
{
	uint32_t version = file_version(s);

	if (version != s->kept.version && store_look(s, f) < 0)
		return f->code;
	kept_check(&s->kept, version);
	return 0;
}

/*~ A transaction.  Station 7 of 12.
 *
 * This code runs in the host, or in one of perhaps ten commands that opened the file without a
 * host. With SQLite alone, all these processes would poll for the lock, and a process could
 * wait for seconds. Instead, writer_queue_take() puts writers into a queue of the kernel
 * (storage/writer_queue.c). In the queue no process polls, no process is overtaken, and a
 * killed process loses its place.
 *
 * In the next step, ground_check() checks that the files are still the files that this process
 * opened. Without ground_check(), data could be lost. If somebody removes or replaces state.db,
 * a process could continue to write into a file that no longer has a name. The process would
 * acknowledge data that nobody finds again. ground_check() prevents this loss at the price of
 * some `statx` calls per write.
 *
 * BEGIN IMMEDIATE takes SQLite's lock. From BEGIN IMMEDIATE until store_commit() below, no
 * other connection changes the state, so the transaction's decision on a claim is final. After
 * the COMMIT, the process rings the bell, which is a file beside the state. A byte is written
 * to this file, and the write wakes every process that waits for changes.
 *
 * Next: core/call/call.c
 */
int store_begin(struct store *s, bool write, struct fault *f)
{
	int rc;

	assert(!s->writing && !store_intact(s));
	assert(!write || !(s->flags & STORE_READ));
	if (!s->db && reconnect(s, f) < 0)
		return f->code;
	if (write && writer_queue_take(&s->queue, f) < 0)
		return f->code;
	s->writing = write;
	if (ground_check(s, write ? GROUND_WRITE : GROUND_READ, f) < 0) {
		store_leave(s);
		return f->code;
	}
	rc = own_run(s, write ? OWN_BEGIN_WRITE : OWN_BEGIN_READ);
	if (rc != SQLITE_OK) {
		store_leave(s);
		return store_fault(s, rc, "begin", f);
	}
	if (write && (notice_others(s, f) < 0 || generation_begin(s, f) < 0)) {
		store_rollback(s);
		return f->code;
	}
	s->began = s->now ? s->now : clock_wall_ms();
	return 0;
}

int store_begin_lax(struct store *s, struct fault *f)
{
	int rc;

	if (s->db && !(s->flags & (STORE_NORMAL | STORE_MEMORY))) {
		if (store_exec(s, SQL_SYNC_NORMAL, f) < 0)
			return f->code;
		s->lax = true;
	}
	rc = store_begin(s, true, f);
	if (rc < 0)
		store_leave(s); /* sets synchronous=FULL again */
	return rc;
}

int64_t store_now(const struct store *s)
{
	return s->began;
}

/* Whether a failed COMMIT has changed nothing. A transaction is committed by a mark in the last
 * page that it writes to the log. If the disk had no room for all pages, the log has no such
 * mark. */
static bool store_is_undone(int rc)
{
	return (rc & 0xff) == SQLITE_FULL;
}

static int commit_failed(struct store *s, int rc, struct fault *f)
{
	struct fault cause = { 0 }, again = { 0 };

	store_fault(s, rc, "commit", &cause);
	if (s->flags & STORE_MEMORY) /* a new connection would lose a state in memory */
		store_rollback(s);
	else
		reconnect(s, &again); /* if this fails, store_begin() tries again */
	store_leave(s);
	return fault_set(f, FAULT_UNAVAILABLE, "", "%s: %s",
			 store_is_undone(rc) ? "nothing was changed"
					     : "the outcome is not known",
			 cause.text);
}

int store_commit(struct store *s, struct fault *f)
{
	bool wrote = s->writing;
	int rc;

	assert(s->n_queries == 0);
	rc = own_run(s, OWN_COMMIT);
	if (rc != SQLITE_OK)
		return commit_failed(s, rc, f);
	if (wrote)
		s->kept.version = file_version(s);
	store_leave(s);
	if (wrote)
		writer_queue_ring(&s->queue);
	/* ground_kept() fails if the files were removed during the COMMIT, since the written
	 * data is then lost. */
	return wrote ? ground_kept(s, f) : 0;
}

bool store_lost(struct store *s)
{
	struct fault f = { 0 };

	return ground_check(s, GROUND_WRITE, &f) < 0;
}

const struct fault *store_was_lost(const struct store *s)
{
	return s->ground.lost ? &s->ground.why : NULL;
}

void store_rollback(struct store *s)
{
	struct fault again = { 0 };

	if (s->writing)
		kept_forget(&s->kept);
	stmt_reset_all(s);
	if (store_intact(s) && (own_prepare(s, OWN_ROLLBACK) != SQLITE_OK ||
				sqlite3_step(s->own[OWN_ROLLBACK]) != SQLITE_DONE))
		reconnect(s, &again);
	sqlite3_reset(s->own[OWN_ROLLBACK]);
	store_leave(s);
}

/* Runs a statement inside the transaction. Fails if there is no transaction, since SAVEPOINT
 * would begin a new transaction. */
static int own_inside(struct store *s, enum own id, struct fault *f)
{
	int rc = store_intact(s) ? own_run(s, id) : SQLITE_ABORT;

	return rc == SQLITE_OK ? 0 : store_fault(s, rc, own_text[id], f);
}

int store_savepoint(struct store *s, struct fault *f)
{
	return own_inside(s, OWN_SAVEPOINT, f);
}

int store_release(struct store *s, struct fault *f)
{
	return own_inside(s, OWN_RELEASE, f);
}

int store_rewind(struct store *s, struct fault *f)
{
	kept_forget(&s->kept);
	stmt_reset_all(s);
	if (own_inside(s, OWN_REWIND, f) < 0)
		return f->code;
	return own_inside(s, OWN_RELEASE, f);
}

/* --- around the file ---------------------------------------------------------------- */

int64_t store_data_version(struct store *s)
{
	return own_number(s, OWN_DATA_VERSION);
}

int64_t store_schema_version(struct store *s, struct fault *f)
{
	return store_number(s, SQL_VERSION, f);
}

int store_checkpoint(struct store *s, struct fault *f)
{
	int frames = 0, copied = 0, rc;

	if (ground_check(s, GROUND_WRITE, f) < 0)
		return f->code;
	rc = s->db ? sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_PASSIVE,
					       &frames, &copied)
		   : SQLITE_CANTOPEN;
	if ((rc & 0xff) == SQLITE_BUSY) /* another process does a checkpoint */
		return (int)store_wal_frames(s);
	if (rc != SQLITE_OK)
		return store_fault(s, rc, "checkpoint", f);
	s->frames = frames;
	s->copied = copied;
	return frames - copied;
}

int64_t store_wal_frames(const struct store *s)
{
	return s->frames - s->copied;
}

int64_t store_wal_length(const struct store *s)
{
	return s->frames;
}

int64_t store_wal_syncs(const struct store *s, int64_t *ns)
{
	sqlite3_file *wal = NULL;

	*ns = 0;
	if (s->db)
		sqlite3_file_control(s->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal);
	return wal_vfs_syncs(wal, ns);
}

int store_restart_wal(struct store *s, int ms, struct fault *f)
{
	int frames = 0, copied = 0, rc = SQLITE_CANTOPEN;

	if (ground_check(s, GROUND_WRITE, f) < 0)
		return f->code;
	if (s->db) {
		sqlite3_busy_timeout(s->db, ms);
		rc = sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_RESTART,
					       &frames, &copied);
		sqlite3_busy_timeout(s->db, BUSY_MS);
	}
	if ((rc & 0xff) == SQLITE_BUSY)
		return 0;
	if (rc != SQLITE_OK)
		return store_fault(s, rc, "checkpoint", f);
	s->frames = frames;
	s->copied = copied;
	return 1;
}

const char *store_path(const struct store *s)
{
	return s->path;
}

bool store_is_wanted(const struct store *s)
{
	return writer_queue_is_wanted(&s->queue);
}

bool store_is_held(const struct store *s, int wait_ms, char *who, size_t size)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	const bool waits = wait_ms > 0;
	struct lock_holder first, now;

	if (!lock_holder_find(s->queue.lock, WRITER_QUEUE_WRITE, &first))
		return false;
	for (now = first; !now.stopped && wait_ms > 0; wait_ms -= 20) {
		nanosleep(&pause, NULL);
		if (!lock_holder_find(s->queue.lock, WRITER_QUEUE_WRITE, &now) ||
		    strcmp(now.name, first.name) != 0)
			return false;
	}
	if (!now.stopped && !waits)
		return false;
	snprintf(who, size, "%s", now.name);
	return true;
}
