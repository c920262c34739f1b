/*
 * stmt - the tables that sqlgen writes: statements and migrations.
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

/* A parameter or column, and its place in the caller's struct. */
struct slot {
	enum slot_kind kind;
	uint16_t at;
	uint16_t has; /* place of a bool that says "not NULL"; 0: there is no bool */
};

enum { KEPT_STATEMENTS = 8 }; /* kept statements have smaller numbers */

struct statement {
	const char *name, *text;
	bool readonly;
	bool late; /* no caller needs the number of changed rows, and store_run() returns 0 */
	bool always; /* store_row() finds a row, or reports that the state is damaged */
	int kept; /* number of the statement in struct kept; 0: its rows are not kept */
	unsigned invalidates; /* bit set of kept statements whose rows this statement may change */
	const struct slot *params; /* in the order of their indexes, from 1 */
	int n_params;
	int n_columns;
	const struct slot *columns; /* NULL if the row is a record */
	size_t row_size;
	const struct record *record; /* a record whose fields are found by name, or NULL */
};

/* Files of migrations/, in order.  Each text ends by setting user_version. */
struct migration {
	int version;
	const char *name, *text;
};

/* An object that the file must hold after all migrations.  Objects are sorted by type and name. */
struct schema_object {
	const char *type, *name, *table, *sql; /* sql "": made by SQLite itself */
};

extern const struct schema_object schema_table[];
extern const int schema_count;
/* Statements that fill the tables of a new file as all migrations would, and that set
 * user_version. */
extern const char schema_rows[];

extern const struct statement statement_table[];
extern const struct migration migration_table[];
extern const int migration_count;

#endif
