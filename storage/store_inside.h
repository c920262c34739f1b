/*
 * store_inside - a connection's private parts, shared by the files of storage/.
 *
 * store.c opens the connection and runs transactions.  stmt.c binds and reads.  migrate.c
 * brings a file to the present version, and refuses foreign objects in a file.  store_backup.c
 * copies and checks the file.
 */
#ifndef STORAGE_STORE_INSIDE_H
#define STORAGE_STORE_INSIDE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/ground.h"
#include "storage/stmt.h"
#include "storage/writer_queue.h"

/*
 * kept - rows that a writer need not read anew for every call.
 *
 * Each call asks for the caller's row and for the lead of the caller's team, and both hardly
 * ever change.  The row of a statement marked `-- kept:` is kept with its parameters, by the
 * connection that writes.  The row is kept as long as nothing that the statement reads can have
 * changed.  sqlgen finds all statements that change a column which a kept statement reads.
 * Each of these statements makes the store forget the rows of that kept statement.  After a
 * rollback, or a change of the file by another connection, all rows are forgotten.  Only a row
 * that was found is kept.
 *
 * A hash leads to two places, so that two rows with the same hash do not replace each other
 * call after call.  Of three rows with the same hash, the oldest is dropped.
 */

/* Enough places for some hundred agents at work. */
enum { KEPT_PLACES = 2048, KEPT_KEY = 160 };

struct kept {
	uint64_t age[KEPT_STATEMENTS]; /* current age of each statement; its rows of
					  another age are forgotten.  No statement
					  has the number 0 */
	uint32_t version; /* version of the file when the rows were read */
	struct kept_row *places[KEPT_PLACES];
};

/* Forgets all rows. */
void kept_forget(struct kept *k);
/* Forgets all rows, unless the file still has the version `version`. */
void kept_check(struct kept *k, uint32_t version);
void kept_release(struct kept *k);

/* Statements that the store itself runs. */
enum own {
	OWN_BEGIN_READ,
	OWN_BEGIN_WRITE,
	OWN_COMMIT,
	OWN_ROLLBACK,
	OWN_SAVEPOINT,
	OWN_RELEASE,
	OWN_REWIND,
	OWN_DATA_VERSION,
	OWN_TABLES_VERSION,
	OWN_VERSION,
	OWN_COUNT
};

struct prepared {
	sqlite3_stmt *stmt; /* NULL until the first use */
	const struct slot *columns;
	struct slot *found; /* columns that were found by name; malloc'd */
	bool busy; /* an open query runs the statement */
	int64_t next_id; /* for a NAME_new_id: the id to hand out next */
	uint64_t next_id_age; /* kept_age() for which next_id is valid */
};

struct store {
	sqlite3 *db; /* NULL after a failed reopening; store_begin() tries again */
	unsigned flags;
	int64_t host; /* row of this machine in `host` */
	int64_t tables; /* SQL_TABLES_VERSION at the last check of the tables */
	int64_t began; /* when the running transaction began, in ms since 1970 */
	int64_t now; /* tests: the time for `began`; 0: `began` is the clock's time */
	char *dir, *path, *vfs;
	struct writer_queue queue;
	struct ground ground;
	bool writing; /* this store has the turn */
	bool lax; /* this transaction's COMMIT does not wait for the disk */
	bool full; /* a step found the disk full */
	int n_queries; /* number of open queries */
	int64_t frames; /* frames in the WAL at the last commit */
	int64_t copied; /* frames that were copied at the last checkpoint */
	long fail_after; /* tests: steps until a step fails; 0: no step fails */
	int fail_with;
	struct kept kept; /* used while writing */
	struct search *search; /* opened on first use: storage/search/search.h */
	sqlite3_stmt *own[OWN_COUNT];
	struct prepared stmts[SQL_COUNT];
};

/* The VFS that a test has put under every file, or NULL.  Only programs of tests contain this
 * function: see tests/lib/fault_vfs.h. */
__attribute__((weak)) const char *store_vfs_chosen(void);

/* Fills a fault from an SQLite result; `what` names the action.  No other function does this. */
int store_fault(const struct store *s, int rc, const char *what, struct fault *f);

/* Makes a step of the statement, unless a test has asked that this step fails (fail_after). */
int store_step(struct store *s, sqlite3_stmt *st);

/* Finalizes all statements, since the connection is about to be closed. */
void stmt_release_all(struct store *s);
/* Ends queries that their handlers left open. */
void stmt_reset_all(struct store *s);

/* Refuses a file system that cannot be relied on.  Also refuses a folder without a state,
 * unless `make` is set.  `dir` is the open folder `path`. */
int place_check(int dir, const char *path, bool make, struct fault *f);

/* Refuses a file of `version` that has objects which the migrations do not make.  Returns 0 or
 * a fault. */
int schema_check(struct store *s, int version, struct fault *f);

/* Makes state.db if the file is missing and the store may make a file. */
int place_make_state(struct store *s, int dir, struct fault *f);

/* The integer that a one-row statement returns, or -1 with a fault. */
int64_t store_number(struct store *s, const char *sql, struct fault *f);
int store_exec(struct store *s, const char *sql, struct fault *f);

/* Offsets of two numbers that tell states apart.  The numbers are in the file's header, at the
 * beginning of page 1. */
enum {
	HEADER_CHANGES = 24, /* the change counter */
	HEADER_MARK = 68, /* the application id: see ground.h */
};

/* A number of a file's header, the high byte first. */
static inline uint32_t number_at(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The fault of a state whose table `state` has lost its only row. */
int store_no_own_row(struct fault *f);

/* Prepares a statement of any database and takes its first step.  Returns the result of this
 * step. */
int store_db_first(sqlite3 *db, const char *sql, sqlite3_stmt **st);
/* Copies a database to `path`, which must be an empty file.  Returns SQLITE_DONE on success.
 * VACUUM INTO keeps the mode of the empty file. */
int store_db_copy(sqlite3 *db, const char *path);
/* Runs integrity_check and foreign_key_check on any database. */
int store_check_db(sqlite3 *db, struct fault *f);
/* Gives a database its own mark: see ground.h. */
int store_mark(sqlite3 *db, struct fault *f);
/* The fault of a file that a newer program has migrated to `version`. */
int store_refuse_newer(const struct store *s, int64_t version, struct fault *f);
/* Brings an opened or new file to the version of this program.  Called with WRITER_QUEUE_OPEN
 * held.  After the call, the store holds WRITER_QUEUE_VERSION shared. */
int store_migrate(struct store *s, struct fault *f);
/* store_backup() without the check of the state; with `replace`, a file at `path` is replaced. */
int store_copy_to(struct store *s, const char *path, bool replace, struct fault *f);

#endif
