/*
 * store - a connection to the state file, its transactions and statements.
 *
 * A committed transaction is on the disk (synchronous=FULL) before store_commit() returns.
 * Only storage/ knows SQLite.  Here a row is a struct whose fields are named and typed by the
 * statement that fills the struct.  sqlgen writes these structs into build/sql.gen.h, from
 * storage/NOUN.sql.  Texts and blobs that are read are copied into the caller's arena.  Texts
 * that are bound are borrowed until the statement ends.
 *
 * Writers of all processes take turns on state.lock.  So no writer ever waits in SQLite's own
 * polling.
 */
#ifndef STORAGE_STORE_H
#define STORAGE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/fault.h"

struct blob {
	const void *data;
	size_t size;
};

#include "sql.gen.h" /* enum sql, struct NAME_in, struct ROW_row */

struct store;

enum store_flags {
	STORE_READ = 1, /* a read connection: takes no turn, query_only */
	STORE_NO_CHECKPOINT = 2, /* the host, not SQLite, makes the checkpoints */
	STORE_NORMAL = 4, /* synchronous=NORMAL, which the user has chosen */
	STORE_CREATE = 8, /* make the file if it does not exist */
	STORE_MEMORY = 16, /* a private state in memory (tests); dir is ignored */
	STORE_LARGE_CACHE =
		32, /* 8 MB of pages instead of 2: for a process that writes all the time */
	STORE_BLANK = 64, /* with STORE_MEMORY: without tables, which tests make */
};

/* Opens DIR/state.db.  The first open, pragmas and migrations run under the exclusive lock of
 * state.lock.  A verified backup is made before migrations.  While the store is open, it holds
 * the shared lock of state.lock.  A newer file is refused.  A `vfs` of NULL means the default. */
int store_open(struct store **out, const char *dir, unsigned flags, const char *vfs,
	       struct fault *f);
void store_close(struct store *s); /* `s` may be NULL */
/* The row in `host` for the machine that this program runs on.  The program starts, ends and
 * counts only the workspaces and turns of this host. */
int64_t store_host(const struct store *s);

/* --- transactions ---------------------------------------------------------- */

/* Takes the turn and runs BEGIN IMMEDIATE.  For a read, runs only BEGIN. */
int store_begin(struct store *s, bool write, struct fault *f);
/* Begins a transaction that writes and whose COMMIT does not wait for the disk.  A loss of
 * power may undo this transaction, but no other transaction.  Meant for changes that only count
 * something and are reported to nobody. */
int store_begin_lax(struct store *s, struct fault *f);
/* When the running transaction began, in ms since 1970.  This time is the `now` of all calls in
 * the transaction.  A writer's time is taken after the writer has got the turn.  So the time is
 * no older than the rows that are found, unless the clock was set. */
int64_t store_now(const struct store *s);
/* Runs COMMIT, gives the turn back and rings the bell.  A failure means that the outcome is
 * unknown.  In this case the store has replaced its connection by a new connection, or the
 * store's files are gone.  Every call of the transaction must be answered `unavailable`. */
int store_commit(struct store *s, struct fault *f);
void store_rollback(struct store *s);
int store_savepoint(struct store *s, struct fault *f);
int store_release(struct store *s, struct fault *f); /* keep the savepoint's changes */
/* Undoes and ends the savepoint, and ends queries that are still open. */
int store_rewind(struct store *s, struct fault *f);
/* False after a failed step has dropped the whole transaction. */
bool store_intact(const struct store *s);
/* How many rows this connection has changed.  If the number is equal before and after a failed
 * call, there is nothing to undo. */
int64_t store_changes(const struct store *s);

/* Whether the state's files were moved, removed or replaced since they were opened.  After such
 * a loss, no transaction begins, each fault gives the reason, and the store can only be closed. */
bool store_lost(struct store *s);
/* The fault with which the store was lost, without a new look at the files.  NULL: the store is
 * not lost.  The store owns the fault, which never changes. */
const struct fault *store_was_lost(const struct store *s);

/* Whether a process waits to migrate the state.  It waits until all other processes have closed
 * the state. */
bool store_is_wanted(const struct store *s);

/* Whether a process keeps others from writing the state.  Such a process is stopped in its
 * transaction.  With wait_ms > 0, a process also counts if it is in its transaction at every
 * look during wait_ms.  Writes the process's name to `who`, such as `12 (cadre mcp)`. */
bool store_is_held(const struct store *s, int wait_ms, char *who, size_t size);

/* --- statements: use the macros of core/call/call.h ------------------------------ */

struct query {
	struct store *store;
	enum sql id;
	int rc; /* a failure to bind, which the first store_next() reports */
	bool open;
};

/* Makes SQLite overwrite deleted and replaced data in the file, until store_erases() is called
 * with `on` false.  Returns 0 or negative.  Without this setting, SQLite leaves most of the
 * data in the file until the pages are used again. */
int store_erases(struct store *s, bool on, struct fault *f);

/* store_run() runs a statement.  It returns how many rows the statement changed (0 for a `late`
 * statement), or a fault code.  store_row() reads one row, with its texts in the arena.  It
 * returns 1, 0 if there is no row, or a fault code.  An `always` statement never gives 0.
 * store_query() begins a statement of many rows, store_next() reads each row as store_row()
 * does, and query_end() ends the query. */
int store_run(struct store *s, enum sql id, const void *in, struct fault *f);
int store_row(struct store *s, enum sql id, const void *in, void *row, size_t size,
	      struct arena *a, struct fault *f);
void store_query(struct store *s, struct query *q, enum sql id, const void *in);
int store_next(struct query *q, void *row, size_t size, struct arena *a, struct fault *f);
void query_end(struct query *q);
int query_over(struct query *q, int rc); /* calls query_end(); 0, or a negative `rc` */
/* The id that the next INSERT into a table must give to its row.  So the id need not be queried
 * after the INSERT.  `ask` is the table's NAME_new_id, which runs only once while no other
 * connection writes.  Returns a positive id, or a fault. */
int64_t store_new_id(struct store *s, enum sql ask, struct fault *f);

/* Makes the next store_new_id() ask the file again.  Call store_renumber() after a statement
 * that numbers rows by itself. */
void store_renumber(struct store *s, enum sql ask);

/* --- around the file --------------------------------------------------------- */

int64_t store_data_version(struct store *s); /* changes when other connections commit */
int64_t store_schema_version(struct store *s, struct fault *f); /* negative: a fault */
/* Checks whether somebody has changed the tables since the file was opened.  Returns 0 or a
 * fault.  Writes fail until the tables are cadre's own again. */
int store_look(struct store *s, struct fault *f);
/* Does a PASSIVE checkpoint.  Returns how many frames the checkpoint could not copy, or
 * negative.  After 0, the WAL begins anew with the next commit. */
int store_checkpoint(struct store *s, struct fault *f);
int64_t store_wal_frames(const struct store *s); /* frames since the last checkpoint */
int64_t store_wal_length(const struct store *s); /* all frames of the WAL */
/* How often this connection has waited for the WAL to be on the disk, since the connection
 * opened the WAL.  `ns` gets the total time of these waits. */
int64_t store_wal_syncs(const struct store *s, int64_t *ns);
/* Waits at most `ms` for reads that began before the WAL was copied, since such reads keep the
 * WAL from beginning anew.  Returns 1, 0 if such a read still runs, or negative. */
int store_restart_wal(struct store *s, int ms, struct fault *f);
/* Whether a step has found the disk full since the last call of this function.  After a
 * checkpoint, the frames of the WAL can be overwritten. */
bool store_found_full(struct store *s);
/* Refuses a folder in which no state can be made: its file system cannot be relied on, or the
 * folder cannot be written. */
int store_check_place(const char *path, struct fault *f);
const char *store_path(const struct store *s); /* path of the state file */
/* Makes a verified copy of the state at `path` (VACUUM INTO, integrity_check).  `path` must not
 * exist before. */
int store_backup(struct store *s, const char *path, struct fault *f);
/* Runs integrity_check and foreign_key_check, and checks the row of the state itself.  Returns
 * 0 if the state is sound, else the first finding. */
int store_check(struct store *s, struct fault *f);

#endif
