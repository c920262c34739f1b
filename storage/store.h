/*
 * store - a connection to the state file, its transactions and statements.
 *
 * A committed transaction is on the disk (synchronous=FULL) before
 * store_commit() returns.  Only storage/ knows SQLite; a row is a struct here
 * fields are named and typed by the statement that fills it (build/sql.gen.h,
 * written by sqlgen from storage/NOUN.sql).  Texts and blobs read are copied
 * into the caller's arena; texts bound are borrowed until the statement ends.
 *
 * Writers of all processes take turns on state.lock, so none of them ever
 * waits on SQLite's own polling.
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
	STORE_READ = 1, /* a read connection: no turn, query_only */
	STORE_NO_CHECKPOINT = 2, /* wal_autocheckpoint=0: the host hands it over */
	STORE_NORMAL = 4, /* synchronous=NORMAL: the user's own choice */
	STORE_CREATE = 8, /* make the file if it is not there */
	STORE_MEMORY = 16, /* a private in-memory state (tests); dir is ignored */
	STORE_LARGE_CACHE =
		32, /* 8 MB of pages instead of 2: for a process that writes all the time */
	STORE_BLANK = 64, /* with STORE_MEMORY: no tables yet: tests fill it */
};

/* Opens DIR/state.db: first open, pragmas, migrations (with a verified backup
 * before) under the exclusive lock of state.lock; holds its shared lock while
 * open.  A newer file is refused.  `vfs` NULL for the default. */
int store_open(struct store **out, const char *dir, unsigned flags, const char *vfs,
	       struct fault *f);
void store_close(struct store *s); /* NULL is fine */
/* The row in `host` of the machine that this program runs on: the program starts, ends
 * and counts only the workspaces and turns of this host. */
int64_t store_host(const struct store *s);

/* --- transactions ---------------------------------------------------------- */

/* Takes the turn and BEGIN IMMEDIATE, or BEGIN for a read. */
int store_begin(struct store *s, bool write, struct fault *f);
/* A transaction that writes and whose COMMIT does not wait for the disk: a loss of power may
 * undo it, alone.  For what counts and is not told to anybody. */
int store_begin_lax(struct store *s, struct fault *f);
/* When the running transaction began, in ms since 1970.  This time is the `now` of all
 * calls in the transaction.  A writer's time is taken once the writer has the turn, so the
 * time is no older than the rows found, unless the clock was set. */
int64_t store_now(const struct store *s);
/* COMMIT, gives the turn back, rings the bell.  A failure means that the
 * outcome is unknown: the store has closed and opened its connection anew, or its
 * files are gone, and every call of the transaction must be answered
 * `unavailable`. */
int store_commit(struct store *s, struct fault *f);
void store_rollback(struct store *s);
int store_savepoint(struct store *s, struct fault *f);
int store_release(struct store *s, struct fault *f); /* keep it */
int store_rewind(struct store *s, struct fault *f); /* undo and end it, and
						       * queries left open */
/* False when a failed step has dropped the whole transaction. */
bool store_intact(const struct store *s);
/* How many rows this connection has changed: equal before and after a call
 * that failed means that there is nothing to undo. */
int64_t store_changes(const struct store *s);

/* Whether the state's files were moved, removed or replaced since they were opened.
 * Then no transaction begins any more, each fault says why, and the store can only be
 * closed. */
bool store_lost(struct store *s);
/* The fault with which the store was lost, without a new look; NULL: the store is not
 * lost.  The store owns the fault, which never changes. */
const struct fault *store_was_lost(const struct store *s);

/* Whether a process waits to migrate the state, until all others have closed it. */
bool store_is_wanted(const struct store *s);

/* Whether a process keeps the state from being written: a process that is stopped in its
 * transaction, or (wait_ms > 0) a process that is in its transaction at every look during
 * wait_ms.  Writes the process's name to `who`, such as `12 (cadre mcp)`. */
bool store_is_held(const struct store *s, int wait_ms, char *who, size_t size);

/* --- statements: use the macros of core/call/call.h ------------------------------ */

struct query {
	struct store *store;
	enum sql id;
	int rc; /* a failure to bind, reported by the first next */
	bool open;
};

/* Has what statements delete or replace be overwritten in the file, until it is told
 * otherwise: 0 or negative.  SQLite leaves most of it where it is until the pages are used
 * again. */
int store_erases(struct store *s, bool on, struct fault *f);

/* store_run() runs a statement: how many rows it changed (0 for a late one) or a fault
 * code.  store_row() reads one row, its texts in the arena: 1, 0 if there is none (never for
 * a statement that is `-- always`), or a fault code.  store_query() begins a statement of
 * many rows, store_next() reads each of them like store_row(), query_end() ends it. */
int store_run(struct store *s, enum sql id, const void *in, struct fault *f);
int store_row(struct store *s, enum sql id, const void *in, void *row, size_t size,
	      struct arena *a, struct fault *f);
void store_query(struct store *s, struct query *q, enum sql id, const void *in);
int store_next(struct query *q, void *row, size_t size, struct arena *a, struct fault *f);
void query_end(struct query *q);
int query_over(struct query *q, int rc); /* query_end(); 0, or `rc` if it is negative */
/* The id of the row that the next INSERT into a table adds, which gives it: nobody has to ask
 * for it behind the INSERT.  `ask` is the table's NAME_new_id, which is run once while only
 * this connection writes.  Positive, or a fault. */
int64_t store_new_id(struct store *s, enum sql ask, struct fault *f);

/* Makes the next store_new_id() ask the file again.  Call it behind a statement that numbers rows
 * by itself. */
void store_renumber(struct store *s, enum sql ask);

/* --- around the file --------------------------------------------------------- */

int64_t store_data_version(struct store *s); /* changes when others commit */
int64_t store_schema_version(struct store *s, struct fault *f); /* or negative */
/* Looks whether somebody has changed the tables since the file was opened: 0 or a fault.
 * Writes fail until the tables are cadre's own again. */
int store_look(struct store *s, struct fault *f);
/* Does a PASSIVE checkpoint; returns how many frames it could not copy (0: the WAL starts
 * anew with the next commit), or negative. */
int store_checkpoint(struct store *s, struct fault *f);
int64_t store_wal_frames(const struct store *s); /* since the last checkpoint */
int64_t store_wal_length(const struct store *s); /* all frames of the WAL */
/* How often this connection waited for the disk to have the WAL since it opened that, and for
 * how long together. */
int64_t store_wal_syncs(const struct store *s, int64_t *ns);
/* Waits at most `ms` for reads that began before the WAL was copied, since they keep it
 * from starting anew.  1, 0 if such a read still runs, or negative. */
int store_restart_wal(struct store *s, int ms, struct fault *f);
/* Whether a step has found the disk full since the last question: after a checkpoint the
 * frames of the WAL can be overwritten. */
bool store_found_full(struct store *s);
/* Refuses a folder in which no state can be made: a file system that cannot be relied
 * on, or one that cannot be written. */
int store_check_place(const char *path, struct fault *f);
const char *store_path(const struct store *s); /* of the state file */
/* A verified copy (VACUUM INTO, integrity_check) at `path`, which is new. */
int store_backup(struct store *s, const char *path, struct fault *f);
/* integrity_check, foreign_key_check and the row of the state itself: 0 if sound, else the
 * first finding. */
int store_check(struct store *s, struct fault *f);

#endif
