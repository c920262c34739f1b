/*
 * side - a database beside the state: the guest's spool, the search index.
 *
 * A connection and its statements, prepared on first use.  Each has .sql files of its
 * own, from which sqlgen makes the structs of parameters and rows.  All results are
 * SQLite's: SQLITE_OK, SQLITE_ROW or SQLITE_DONE when it went well.
 */
#ifndef STORAGE_SIDE_H
#define STORAGE_SIDE_H

#include <sqlite3.h>

#include "storage/stmt.h"

struct side_db {
	sqlite3 *db;
	const struct statement *table;
	sqlite3_stmt **prepared; /* as many as the table has */
	int n;
	long fail_after; /* tests: steps until one fails; -1: it has */
	int fail_with;
};

/* Binds: SQLITE_OK.  Then each side_next() gives SQLITE_ROW with `row` filled in the
 * arena, until it gives another result.  A caller that stops earlier calls side_end(). */
int side_start(struct side_db *d, int id, const void *in);
int side_next(struct side_db *d, int id, void *row, size_t size, struct arena *a);
void side_end(struct side_db *d, int id);
/* Runs a statement to its end: SQLITE_OK. */
int side_run(struct side_db *d, int id, const void *in);
/* Reads one row of a statement: SQLITE_ROW, or SQLITE_DONE where there is none. */
int side_row(struct side_db *d, int id, const void *in, void *row, size_t size,
	     struct arena *a);
int side_exec(struct side_db *d, const char *script);
int side_version(struct side_db *d, int *version); /* user_version: SQLITE_OK */
void side_close(struct side_db *d);

#define side_in(name, ...) (&(const struct sql_##name##_in){ __VA_ARGS__ })
#define SIDE_START(d, name, ...) side_start((d), sql_##name, side_in(name, __VA_ARGS__))
#define SIDE_RUN(d, name, ...) side_run((d), sql_##name, side_in(name, __VA_ARGS__))
#define SIDE_ROW(d, name, row, a, ...) \
	side_row((d), sql_##name, side_in(name, __VA_ARGS__), (row), sizeof(*(row)), (a))

#endif
