/*
 * stmt - declares the tables of statements and migrations that sqlgen writes.
 *
 * build/sql.gen.c defines the tables for the state.  spool_sql.gen.c and search_sql.gen.c
 * define the tables for the databases beside the state.  Only storage/ reads these tables.
 */
#ifndef STORAGE_STMT_H
#define STORAGE_STMT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/store.h"

struct record;

enum slot_kind { SLOT_INT, SLOT_TEXT, SLOT_BLOB, SLOT_BOOL };

/* The place of a parameter or column in the caller's struct. */
struct slot {
	enum slot_kind kind;
	uint16_t at;
	uint16_t has; /* offset of a bool that is false for NULL, or 0 */
};

enum { KEPT_STATEMENTS = 8 }; /* kept statements have the numbers 1 to 7 */

struct statement {
	const char *name, *text;
	bool readonly;
	bool late; /* store_run() returns 0 instead of the number of changed rows */
	bool always; /* if there is no row, store_row() fails, as the state is damaged */
	int kept; /* index of a kept statement in kept.age, or 0 */
	unsigned invalidates; /* one bit for each kept statement that reads a column which
				 this statement changes */
	const struct slot *params; /* in the order of their indexes, from 1 */
	int n_params;
	int n_columns;
	const struct slot *columns; /* NULL if `record` is set */
	size_t row_size;
	const struct record *record; /* record with the columns' names, or NULL */
};

/* The files of migrations/ in order. The last statement of each text sets user_version. */
struct migration {
	int version;
	const char *name, *text;
};

/* A table, index or view that the file must contain after all migrations. The objects in
 * schema_table[] are sorted by type and name. */
struct schema_object {
	const char *type, *name, *table, *sql; /* `sql` is "" for SQLite's own objects */
};

extern const struct schema_object schema_table[];
extern const int schema_count;
/* Statements that add the rows of all migrations to the tables of a new file, and that set
 * user_version. */
extern const char schema_rows[];

extern const struct statement statement_table[];
extern const struct migration migration_table[];
extern const int migration_count;

#endif
