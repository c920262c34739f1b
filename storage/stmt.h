/*
 * stmt - the tables that sqlgen writes: statements and migrations.
 *
 * build/sql.gen.c defines the state's, spool_sql.gen.c and search_sql.gen.c those of the
 * databases beside it; storage/ alone reads them.
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
	uint16_t has; /* of the bool that says it is not NULL; 0: none */
};

enum { KEPT_STATEMENTS = 8 }; /* numbers of kept statements are below */

struct statement {
	const char *name, *text;
	bool readonly;
	bool late; /* nobody uses how many rows it changed: store_run() does not say it */
	bool always; /* store_row() finds a row, or says that the state is damaged */
	int kept; /* number under which its row is kept (struct kept); 0: it is not
		     kept */
	unsigned invalidates; /* bit set of kept statements whose rows this one may change */
	const struct slot *params; /* in the order of their index, from 1 */
	int n_params;
	int n_columns;
	const struct slot *columns; /* NULL when the row is a record ... */
	size_t row_size;
	const struct record *record; /* ... with its fields found by name */
};

/* Files of migrations/, in order; the text ends by setting user_version. */
struct migration {
	int version;
	const char *name, *text;
};

/* An object that the file must hold after all migrations, sorted by type and name. */
struct schema_object {
	const char *type, *name, *table, *sql; /* sql "": made by SQLite itself */
};

extern const struct schema_object schema_table[];
extern const int schema_count;
/* Statements that fill the tables of a new file, as all migrations would, and set user_version. */
extern const char schema_rows[];

extern const struct statement statement_table[];
extern const struct migration migration_table[];
extern const int migration_count;

#endif
