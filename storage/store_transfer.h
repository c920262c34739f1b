/*
 * store_transfer - reads rows of the state for an export, and adds rows in an import.
 *
 * storage/exports lists the columns of each table that are exported.  From this list and from
 * the schema, sqlgen makes the statements for the functions here.  A row is an array of values,
 * in the order of its table's columns.
 */
#ifndef STORAGE_STORE_TRANSFER_H
#define STORAGE_STORE_TRANSFER_H

#include "storage/store.h"

enum transfer_kind {
	TRANSFER_KEY, /* the number of the row itself */
	TRANSFER_ROW, /* the number of a row of `table` */
	TRANSFER_AS, /* a row number of `table`, even if the row is missing */
	TRANSFER_SUBJECT, /* the number of a row; the kind of the event tells which table */
	TRANSFER_EVENT, /* the kind of an event */
	TRANSFER_INT, /* a count, not below zero */
	TRANSFER_SIGNED,
	TRANSFER_TIME,
	TRANSFER_FLAG,
	TRANSFER_TEXT,
	TRANSFER_SLUG,
	TRANSFER_IS, /* always the value `is` */
	TRANSFER_TYPE, /* a value of the type that `type` names in schema/ */
};

struct transfer_column {
	const char *name;
	enum transfer_kind kind;
	bool text; /* the column is a text, else an integer */
	bool null; /* the value may be missing */
	bool none; /* a row number of zero or less means no row */
	int table; /* place in transfer_table[]; -1: no table */
	int64_t is;
	const char *type;
	const char *loose; /* statement that finds a number for which there is no row */
};

enum { TRANSFER_COLUMNS = 32 };

struct transfer_table {
	const char *name;
	const struct transfer_column *columns;
	int n_columns;
	/* Statements.  `all`: all rows.  `of_team`: the rows of a team and of the teams below.
	 * `count` and `count_of_team`: how many rows there are.  `last`: the highest key, or
	 * NULL for a table without a key.  `add`: a new row. */
	const char *all, *of_team, *count, *count_of_team, *last, *add;
};

extern const struct transfer_table transfer_table[];
extern const int transfer_count;

struct transfer_value {
	bool null;
	int64_t n;
	const char *text; /* ends with NUL */
	size_t size;
};

/* The place of a table in transfer_table[], or -1 if the table is not there. */
int transfer_find(const char *name);

/* Calls `each` for every row of a table that belongs to the team `team` or to a team below.  A
 * `team` of 0 means every row of the table.  The rows are in the order of the primary key.
 * Stops when `each` returns a fault.  Must be called in a transaction. */
typedef int transfer_each(void *with, const struct transfer_value *values,
			  struct fault *f);
int transfer_rows(struct store *s, int table, int64_t team, transfer_each *each,
		  void *with, struct fault *f);

/* Counts the rows for which transfer_rows() would call `each`. */
int transfer_number(struct store *s, int table, int64_t team, int64_t *n,
		    struct fault *f);

/* An import of rows, in a transaction that writes. */
struct transfer;
struct transfer *transfer_begin(struct store *s);
void transfer_end(struct transfer *t); /* `t` may be NULL */
/* The highest key of a table; 0 if there is no key. */
int transfer_last(struct transfer *t, int table, int64_t *key, struct fault *f);
/* Adds a row.  The fault FAULT_INVALID says which rule of the table the row breaks. */
int transfer_add(struct transfer *t, int table, const struct transfer_value *values,
		 struct fault *f);
/* Finds a number above `from` in the column for which there is no row.  Returns 1, 0 if there
 * is no such number, or negative. */
int transfer_loose(struct transfer *t, int table, int column, int64_t from,
		   int64_t *number, struct fault *f);

#endif
