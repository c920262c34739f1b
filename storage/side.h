/*
 * side - a connection to a database other than the state: the guest's spool or the search
 * index.
 *
 * A side_db is a connection with prepared statements; each statement is prepared on first use.
 * Each database has its own .sql files, from which sqlgen generates the structs of parameters
 * and rows. All functions return SQLite's results, which are SQLITE_OK, SQLITE_ROW or
 * SQLITE_DONE on success.
 */
#ifndef STORAGE_SIDE_H
#define STORAGE_SIDE_H

#include <sqlite3.h>

#include "storage/stmt.h"

struct side_db {
	sqlite3 *db;
	const struct statement *table;
	sqlite3_stmt **prepared; /* one pointer for each statement of `table` */
	int n;
	long fail_after; /* for tests: steps until a step fails, or -1 after the failure */
	int fail_with;
};

/* Binds the parameters and returns SQLITE_OK. After side_start(), each call of side_next()
 * fills `row` and returns SQLITE_ROW, until a call returns another result. A caller that does
 * not read all rows calls side_end(). */
int side_start(struct side_db *d, int id, const void *in);
int side_next(struct side_db *d, int id, void *row, size_t size, struct arena *a);
void side_end(struct side_db *d, int id);
/* Runs a statement, and ignores a row that it may return. Returns SQLITE_OK on success. */
int side_run(struct side_db *d, int id, const void *in);
/* Reads one row of a statement.  Returns SQLITE_ROW, or SQLITE_DONE if there is no row. */
int side_row(struct side_db *d, int id, const void *in, void *row, size_t size,
	     struct arena *a);
int side_exec(struct side_db *d, const char *script);
/* Reads SQLite's user_version of the database. Returns SQLITE_OK on success. */
int side_version(struct side_db *d, int *version);
void side_close(struct side_db *d);

#define side_in(name, ...) (&(const struct sql_##name##_in){ __VA_ARGS__ })
#define SIDE_START(d, name, ...) side_start((d), sql_##name, side_in(name, __VA_ARGS__))
#define SIDE_RUN(d, name, ...) side_run((d), sql_##name, side_in(name, __VA_ARGS__))
#define SIDE_ROW(d, name, row, a, ...) \
	side_row((d), sql_##name, side_in(name, __VA_ARGS__), (row), sizeof(*(row)), (a))

#endif
