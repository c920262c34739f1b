/*
 * store_inside - a connection's private parts, shared by the files of storage/.
 *
 * store.c opens the connection and runs transactions.  stmt.c binds and reads.  migrate.c
 * brings a file to the present version, and refuses foreign objects in the file.
 * store_backup.c copies and checks the file.
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
 * kept - rows that a writer need not look up for every call.
 *
 * Each call asks for the caller's row and the lead of his team, which hardly ever
 * change.  The row of a statement marked `-- kept:` is kept with its parameters, by the
 * connection that writes, as long as nothing that the statement reads can have changed:
 * sqlgen finds all statements that change such a column, and each of these forgets the
 * rows of the statements that read it; a rollback, and a change of the file by another
 * connection, forget all rows.  Only a row that was found is kept.
 *
 * A hash leads to two places, so that two rows with the same one do not push each
 * other out call after call; of three the oldest is dropped.
 */

/* Places enough for some hundred agents at work. */
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
/* Forgets all rows unless the file still has this version. */
void kept_check(struct kept *k, uint32_t version);
void kept_release(struct kept *k);

/* Statements that the store itself runs, not its callers. */
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
	sqlite3_stmt *stmt; /* NULL until it is first used */
	const struct slot *columns;
	struct slot *found; /* columns, when they were found by name; malloc'd */
	bool busy; /* a query that runs it is open */
	int64_t next_id; /* of NAME_new_id: the id to hand out next ... */
	uint64_t next_id_age; /* ... unless rows were forgotten since */
};

struct store {
	sqlite3 *db; /* NULL after a failed reopening; store_begin() tries again */
	unsigned flags;
	int64_t host; /* the row of this machine */
	int64_t tables; /* SQL_TABLES_VERSION when they were found to be cadre's own */
	int64_t began; /* when the running transaction did, in ms since 1970 */
	int64_t now; /* tests: what `began` becomes; 0: the clock */
	char *dir, *path, *vfs;
	struct writer_queue queue;
	struct ground ground;
	bool writing; /* holds the turn */
	bool lax; /* until the transaction ends COMMIT does not wait for the disk */
	bool full; /* a step found the disk full */
	int n_queries; /* number of open queries */
	int64_t frames; /* in the WAL at the last commit */
	int64_t copied; /* of these frames, the copied ones at the last checkpoint */
	long fail_after; /* tests: steps until one fails; 0: none does */
	int fail_with;
	struct kept kept; /* while writing */
	struct search *search; /* opened on first use: storage/search/search.h */
	sqlite3_stmt *own[OWN_COUNT];
	struct prepared stmts[SQL_COUNT];
};

/* The VFS that a test has put under every file, or NULL.  Only programs of tests hold this
 * function: see tests/lib/fault_vfs.h. */
__attribute__((weak)) const char *store_vfs_chosen(void);

/* Fills a fault from an SQLite result, the only place that does; `what` names the
 * action. */
int store_fault(const struct store *s, int rc, const char *what, struct fault *f);

/* Steps, unless a test has asked that this step fails (fail_after). */
int store_step(struct store *s, sqlite3_stmt *st);

/* Finalizes all statements: the connection is about to be closed. */
void stmt_release_all(struct store *s);
/* Ends queries that their handlers left open. */
void stmt_reset_all(struct store *s);

/* Refuses a file system that cannot be relied on, and a folder `path`, open as
 * `dir`, without a state unless one is to be made. */
int place_check(int dir, const char *path, bool make, struct fault *f);

/* Refuses a file of `version` with objects that the migrations do not make: 0 or a
 * fault. */
int schema_check(struct store *s, int version, struct fault *f);

/* Makes state.db where there is none and the store is to make one. */
int place_make_state(struct store *s, int dir, struct fault *f);

/* The integer of a one-row statement, or -1 with a fault. */
int64_t store_number(struct store *s, const char *sql, struct fault *f);
int store_exec(struct store *s, const char *sql, struct fault *f);

/* Offsets in page 1, which begins with the file's header, of two numbers that tell states
 * apart. */
enum {
	HEADER_CHANGES = 24, /* the change counter */
	HEADER_MARK = 68, /* the application id: see ground.h */
};

/* A number of a file's header, the high byte first. */
static inline uint32_t number_at(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The fault of a state whose table `state` has lost its one row. */
int store_no_own_row(struct fault *f);

/* Prepares a statement of any database and takes its first step: the result of that. */
int store_db_first(sqlite3 *db, const char *sql, sqlite3_stmt **st);
/* Copies a database to `path`, where an empty file is: SQLITE_DONE.  VACUUM INTO keeps the mode of
 * that file. */
int store_db_copy(sqlite3 *db, const char *path);
/* integrity_check and foreign_key_check of any database. */
int store_check_db(sqlite3 *db, struct fault *f);
/* Gives a database a mark of its own: see ground.h. */
int store_mark(sqlite3 *db, struct fault *f);
/* The fault of a file that a newer program has migrated to `version`. */
int store_refuse_newer(const struct store *s, int64_t version, struct fault *f);
/* Brings an opened file (or nothing) to the version of this program, alone
 * under WRITER_QUEUE_OPEN; leaves it holding WRITER_QUEUE_VERSION shared. */
int store_migrate(struct store *s, struct fault *f);
/* store_backup() that may replace what is at `path`. */
int store_copy_to(struct store *s, const char *path, bool replace, struct fault *f);

#endif
