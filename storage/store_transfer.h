/*
 * store_transfer - rows of the state as they leave it for an export, and come in from one.
 *
 * storage/exports says what each table tells; sqlgen makes of it, and of the schema, the
 * statements here.  A row is an array of values, in the order of its table's columns.
 */
#ifndef STORAGE_STORE_TRANSFER_H
#define STORAGE_STORE_TRANSFER_H

#include "storage/store.h"

enum transfer_kind {
	TRANSFER_KEY, /* the number of the row itself */
	TRANSFER_ROW, /* the number of a row of `table` */
	TRANSFER_AS, /* a number that counts with those of `table` */
	TRANSFER_SUBJECT, /* the number of a row, by the kind of an event */
	TRANSFER_EVENT, /* the kind of an event */
	TRANSFER_INT, /* a count: not below zero */
	TRANSFER_SIGNED,
	TRANSFER_TIME,
	TRANSFER_FLAG,
	TRANSFER_TEXT,
	TRANSFER_SLUG,
	TRANSFER_IS, /* always `is` */
	TRANSFER_TYPE, /* of the type of schema/ that `type` names */
};

struct transfer_column {
	const char *name;
	enum transfer_kind kind;
	bool text; /* else an integer */
	bool null; /* it may have no value */
	bool none; /* a row's number that is zero or less is no row */
	int table; /* place in transfer_table[]; -1: none */
	int64_t is;
	const char *type;
	const char *loose; /* statement that finds a number behind which there is no row */
};

enum { TRANSFER_COLUMNS = 32 };

struct transfer_table {
	const char *name;
	const struct transfer_column *columns;
	int n_columns;
	/* Statements: all rows, and those of a team and the teams below it, with how many
	 * there are of each; the highest key, which NULL is for a table without; a new
	 * row. */
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

/* The place of a table in transfer_table[], -1: it has none. */
int transfer_find(const char *name);

/* Calls `each` for every row of a table that belongs to `team` (a row; 0: to the state), in
 * the order of the primary key, until it returns a fault.  In a transaction. */
typedef int transfer_each(void *with, const struct transfer_value *values,
			  struct fault *f);
int transfer_rows(struct store *s, int table, int64_t team, transfer_each *each,
		  void *with, struct fault *f);

/* How many rows that would be. */
int transfer_number(struct store *s, int table, int64_t team, int64_t *n,
		    struct fault *f);

/* Rows that come in, in a transaction that writes. */
struct transfer;
struct transfer *transfer_begin(struct store *s);
void transfer_end(struct transfer *t); /* NULL is fine */
/* The highest key of a table, 0: it has none. */
int transfer_last(struct transfer *t, int table, int64_t *key, struct fault *f);
/* Adds a row.  FAULT_INVALID says which rule of the table it breaks. */
int transfer_add(struct transfer *t, int table, const struct transfer_value *values,
		 struct fault *f);
/* Finds a number above `from` in that column behind which there is no row: 1, 0: there is
 * none, or negative. */
int transfer_loose(struct transfer *t, int table, int column, int64_t from,
		   int64_t *number, struct fault *f);

#endif
