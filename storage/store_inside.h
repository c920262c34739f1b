/*
 * store_inside - the private parts of a connection, for the files of storage/.
 *
 * store.c opens the connection and runs transactions. stmt.c binds parameters and reads rows.
 * migrate.c brings a file to the version of this program, and refuses foreign tables and
 * triggers. store_backup.c copies and checks the file.
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
 * kept - keeps rows that a writer would otherwise read for every call.
 *
 * Each call reads the caller's row and the row of the team's lead, and both rows hardly ever
 * change. A connection that writes keeps each row of a statement marked `-- kept:`, together
 * with the statement's parameters. A row is kept until a column that the statement reads may
 * have changed. sqlgen finds all statements that change a column which a kept statement reads.
 * If one of these statements runs, the store forgets the rows of the kept statement. After a
 * rollback, or after a commit of another connection, the store forgets all rows. If a statement
 * finds no row, nothing is kept.
 *
 * There are two places for each hash. Two rows with the same hash can thus be kept together,
 * and do not replace each other in every call. A third row with the same hash replaces the
 * oldest row.
 */

/* KEPT_PLACES places are enough for several hundred agents that work at the same time. */
enum { KEPT_PLACES = 2048, KEPT_KEY = 160 };

struct kept {
	uint64_t age[KEPT_STATEMENTS]; /* age[n]: age of the kept statement n; age[0]
					  changes only if all rows are forgotten */
	uint32_t version; /* file_version() when the rows were read */
	struct kept_row *places[KEPT_PLACES];
};

/* Forgets all rows. */
void kept_forget(struct kept *k);
/* Forgets all rows if `version` differs from the version at which the rows were read. */
void kept_check(struct kept *k, uint32_t version);
void kept_release(struct kept *k);

/* The statements that store.c runs, which are in no .sql file. */
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
	struct slot *found; /* slots of a record, found by the columns' names; malloc'd */
	bool busy; /* an open query runs the statement */
	int64_t next_id; /* for a statement NAME_new_id: the next new id */
	uint64_t next_id_age; /* kept_age() at which next_id was read */
};

struct store {
	sqlite3 *db; /* NULL after a failed reconnect(); store_begin() tries again */
	unsigned flags;
	int64_t host; /* number of this host's row in the table `host` */
	int64_t tables; /* SQL_TABLES_VERSION at the last check of the tables */
	int64_t began; /* when the running transaction began, in ms since 1970 */
	int64_t now; /* for tests: time that replaces the clock, or 0 */
	char *dir, *path, *vfs;
	struct writer_queue queue;
	struct ground ground;
	bool writing; /* this store has the writer's turn */
	bool lax; /* the next COMMIT does not wait for the disk */
	bool full; /* a step found the disk full */
	int n_queries; /* number of open queries */
	int64_t frames; /* frames in the WAL at the last commit */
	int64_t copied; /* frames that the last checkpoint copied into the file */
	long fail_after; /* for tests: steps until a step fails, or 0 */
	int fail_with;
	struct kept kept; /* rows for a transaction that writes */
	struct search *search; /* the index, or NULL before the first search */
	sqlite3_stmt *own[OWN_COUNT];
	struct prepared stmts[SQL_COUNT];
};

/* Returns the name of the VFS that a test has chosen for all files, or NULL. Only programs of
 * tests contain this function: see tests/lib/fault_vfs.h. */
__attribute__((weak)) const char *store_vfs_chosen(void);

/* Fills a fault from an SQLite result; `what` names the action. For the state, only this
 * function maps SQLite's results to fault codes. */
int store_fault(const struct store *s, int rc, const char *what, struct fault *f);

/* Makes a step of the statement. A test may make the step fail (fail_after). */
int store_step(struct store *s, sqlite3_stmt *st);

/* Finalizes all statements, before the connection is closed. */
void stmt_release_all(struct store *s);
/* Ends the queries that handlers have left open. */
void stmt_reset_all(struct store *s);

/* Refuses a folder on an unreliable file system. Also refuses a folder without a state, unless
 * `make` is set. `dir` is a descriptor of the folder `path`. */
int place_check(int dir, const char *path, bool make, struct fault *f);

/* Refuses a file if its tables, indexes, views or triggers are not those that the migrations up
 * to `version` make. Returns 0 or a fault. */
int schema_check(struct store *s, int version, struct fault *f);

/* Makes state.db if the file is missing and the store has STORE_CREATE. */
int place_make_state(struct store *s, int dir, struct fault *f);

/* Returns the integer in a statement's only row, or -1 with a fault. */
int64_t store_number(struct store *s, const char *sql, struct fault *f);
int store_exec(struct store *s, const char *sql, struct fault *f);

/* Offsets of two numbers that tell one state from another. The numbers are in the header of a
 * file, at the beginning of page 1. */
enum {
	HEADER_CHANGES = 24, /* the change counter */
	HEADER_MARK = 68, /* the application id, which is the file's mark (ground.h) */
};

/* Reads a number of a file's header. The number has the high byte first. */
static inline uint32_t number_at(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Fills `f` with the fault that the table `state` has lost its only row. */
int store_no_own_row(struct fault *f);

/* Prepares a statement of any database, and makes the statement's first step. Returns the
 * result of the step. */
int store_db_first(sqlite3 *db, const char *sql, sqlite3_stmt **st);
/* Copies a database to `path`, which must be an empty file.  Returns SQLITE_DONE on success.
 * VACUUM INTO keeps the mode of the empty file. */
int store_db_copy(sqlite3 *db, const char *path);
/* Runs integrity_check and foreign_key_check on any database. */
int store_check_db(sqlite3 *db, struct fault *f);
/* Gives a database a new mark (ground.h). */
int store_mark(sqlite3 *db, struct fault *f);
/* Fills `f` with the fault that a newer program has migrated the file to `version`. */
int store_refuse_newer(const struct store *s, int64_t version, struct fault *f);
/* Brings an opened or new file to the version of this program. The caller holds the lock
 * WRITER_QUEUE_OPEN. After the call, the store holds a shared lock on WRITER_QUEUE_VERSION. */
int store_migrate(struct store *s, struct fault *f);
/* Like store_backup(), but does not check the state first. With `replace`, the copy replaces a
 * file at `path`. */
int store_copy_to(struct store *s, const char *path, bool replace, struct fault *f);

#endif
