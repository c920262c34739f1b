/*
 * store - a connection to the state file, with transactions and statements.
 *
 * A committed transaction is on the disk (synchronous=FULL) before store_commit() returns,
 * except with STORE_NORMAL or after store_begin_lax(). Only storage/ knows SQLite. For the
 * functions below, a row is a struct. The columns of a statement give the fields of the struct
 * their names and types. sqlgen generates these structs from storage/NOUN.sql into
 * build/sql.gen.h. The texts and blobs of a row are copied into the caller's arena. The texts
 * of parameters must stay valid until the statement ends.
 *
 * The writers of all processes take turns (writer_queue.h). For this reason no writer polls for
 * SQLite's lock.
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
	STORE_READ = 1, /* a connection that only reads, without the writer's turn */
	STORE_NO_CHECKPOINT = 2, /* the host makes all checkpoints */
	STORE_NORMAL = 4, /* synchronous=NORMAL, by the user's choice */
	STORE_CREATE = 8, /* make the state if the file does not exist */
	STORE_MEMORY = 16, /* a new state in memory, for tests; `dir` is ignored */
	STORE_LARGE_CACHE =
		32, /* 8 MB of cached pages instead of 2, for the host's writer */
	STORE_BLANK = 64, /* with STORE_MEMORY: a test makes the tables */
};

/* Opens DIR/state.db. While the function opens, checks and migrates the file, it locks the byte
 * WRITER_QUEUE_OPEN of state.lock exclusively. The function makes a verified backup before
 * migrations. An open store holds a shared lock on another byte of state.lock. A file of a
 * newer version is refused. If `vfs` is NULL, the default VFS is used. */
int store_open(struct store **out, const char *dir, unsigned flags, const char *vfs,
	       struct fault *f);
void store_close(struct store *s); /* `s` may be NULL */
/* The number of this host's row in the table `host`. The program starts, ends and counts only
 * the workspaces and turns of this host. */
int64_t store_host(const struct store *s);

/* --- transactions ---------------------------------------------------------- */

/* Begins a transaction. To write, the store first waits for the writer's turn (writer_queue.h),
 * and runs BEGIN IMMEDIATE instead of BEGIN. */
int store_begin(struct store *s, bool write, struct fault *f);
/* Begins a transaction that writes, and whose COMMIT does not wait for the disk. A loss of
 * power may undo this transaction, but no other transaction. The function is meant for
 * counters, whose changes are not reported to any caller. */
int store_begin_lax(struct store *s, struct fault *f);
/* The time in ms since 1970 at which the running transaction began. All calls in the
 * transaction use this time as `now`. A writer reads the clock after the writer's turn has
 * begun. For this reason no row in the file is newer than the time, unless the clock was set. */
int64_t store_now(const struct store *s);
/* Runs COMMIT, ends the writer's turn and rings the bell. After a failure, nobody knows whether
 * the transaction was committed, unless the disk was full. After a failure, the store has a new
 * connection, or the store's files are lost. The answer to every call of a failed transaction
 * must be `unavailable`. */
int store_commit(struct store *s, struct fault *f);
void store_rollback(struct store *s);
int store_savepoint(struct store *s, struct fault *f);
int store_release(struct store *s, struct fault *f); /* keeps the savepoint's changes */
/* Undoes the changes after the savepoint, ends the savepoint, and ends all open queries. */
int store_rewind(struct store *s, struct fault *f);
/* Whether the transaction is still open. A failed step may have rolled the whole transaction
 * back. */
bool store_intact(const struct store *s);
/* The number of rows that this connection has changed. If a failed call has not raised the
 * number, nothing need be undone. */
int64_t store_changes(const struct store *s);

/* Whether the state's files were moved, removed or replaced after the store opened the files.
 * After a loss of the files, store_begin() always fails with the reason, and the caller can
 * only close the store. */
bool store_lost(struct store *s);
/* Returns the fault of an earlier check that found the store lost, or NULL. The function does
 * not check the files again. The store owns the fault, which never changes. */
const struct fault *store_was_lost(const struct store *s);

/* Whether another process waits to migrate the state. A migration waits until all other
 * processes have closed the state. */
bool store_is_wanted(const struct store *s);

/* Whether a process prevents all other processes from writing to the state. The answer is true
 * if Ctrl-Z or a debugger has stopped a process in a transaction. With wait_ms > 0, the answer
 * is also true if the same process has the writer's turn during all of wait_ms. Writes the
 * process's name, such as `12 (cadre mcp)`, to `who`. */
bool store_is_held(const struct store *s, int wait_ms, char *who, size_t size);

/* --- statements: use the macros of core/call/call.h ------------------------------ */

struct query {
	struct store *store;
	enum sql id;
	int rc; /* result of binding the parameters; store_next() reports a failure */
	bool open;
};

/* Makes SQLite overwrite deleted and replaced data in the file, until store_erases() is called
 * with `on` false. Returns 0 or a negative fault code. By default, most deleted data stays in
 * the file until SQLite uses the pages again. */
int store_erases(struct store *s, bool on, struct fault *f);

/* store_run() runs a statement, and returns the number of changed rows (0 for a `late`
 * statement), or a negative fault code. store_row() reads one row, and copies the texts into
 * the arena. store_row() returns 1 if there is a row, 0 if there is no row, or a negative fault
 * code. For an `always` statement, store_row() never returns 0. store_query() begins a
 * statement that returns many rows. Each store_next() then reads a row, like store_row(), and
 * query_end() ends the query. */
int store_run(struct store *s, enum sql id, const void *in, struct fault *f);
int store_row(struct store *s, enum sql id, const void *in, void *row, size_t size,
	      struct arena *a, struct fault *f);
void store_query(struct store *s, struct query *q, enum sql id, const void *in);
int store_next(struct query *q, void *row, size_t size, struct arena *a, struct fault *f);
void query_end(struct query *q);
int query_over(struct query *q, int rc); /* ends the query; returns min(`rc`, 0) */
/* Returns the id for the next new row of a table; the caller must insert a row with this id.
 * `ask` is the statement NAME_new_id of the table. `ask` runs only once as long as no other
 * connection writes. Returns a positive id, or a negative fault code. */
int64_t store_new_id(struct store *s, enum sql ask, struct fault *f);

/* Makes the next store_new_id() run the statement `ask` again. The function is called after a
 * statement that inserts rows without store_new_id(). */
void store_renumber(struct store *s, enum sql ask);

/* --- around the file --------------------------------------------------------- */

int64_t store_data_version(struct store *s); /* changes when other connections commit */
int64_t store_schema_version(struct store *s, struct fault *f); /* negative: a fault */
/* Checks that nobody has changed the tables after the store opened the file. Returns 0 or a
 * fault. Writes fail until somebody undoes the changes of the tables. */
int store_look(struct store *s, struct fault *f);
/* Does a PASSIVE checkpoint. Returns the number of frames that the checkpoint could not copy,
 * or a negative fault code. If the function returns 0, the next commit starts the WAL anew,
 * unless a read still uses the WAL. */
int store_checkpoint(struct store *s, struct fault *f);
int64_t store_wal_frames(const struct store *s); /* frames not copied into the file yet */
int64_t store_wal_length(const struct store *s); /* number of all frames in the WAL */
/* The number of times that this connection has synced the WAL to the disk. `*ns` is set to the
 * total time of all these syncs. */
int64_t store_wal_syncs(const struct store *s, int64_t *ns);
/* Copies the WAL into the file, and waits at most `ms` for reads that still use the WAL.
 * Returns 1 if the next commit starts the WAL anew, 0 if a read still uses the WAL, or a
 * negative fault code. */
int store_restart_wal(struct store *s, int ms, struct fault *f);
/* Whether a step has found the disk full since the last call of this function. If the disk is
 * full, a checkpoint helps, since the next commits then reuse the space of the WAL. */
bool store_found_full(struct store *s);
/* Refuses a folder in which no state can be made. A state needs a reliable file system, and a
 * folder to which this process can write. */
int store_check_place(const char *path, struct fault *f);
const char *store_path(const struct store *s); /* path of the state file */
/* Copies the state to a new file `path`, and verifies the copy (VACUUM INTO, integrity_check).
 * The function fails if `path` exists already. */
int store_backup(struct store *s, const char *path, struct fault *f);
/* Runs integrity_check and foreign_key_check, and checks that the table `state` has its row.
 * Returns 0 if the state is sound, else a fault with the first error. */
int store_check(struct store *s, struct fault *f);

#endif
