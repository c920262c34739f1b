/*
 * store_transfer - reads rows of the state for an export, and adds rows in an import.
 *
 * storage/exports lists the exported columns of each table. From this list and from the schema,
 * sqlgen generates the statements of transfer_table[]. A row is an array of values in the order
 * of transfer_table.columns.
 */
#ifndef STORAGE_STORE_TRANSFER_H
#define STORAGE_STORE_TRANSFER_H

#include "storage/store.h"

enum transfer_kind {
	TRANSFER_KEY, /* number of the row itself */
	TRANSFER_ROW, /* number of an existing row of `table` */
	TRANSFER_AS, /* number of a row of `table` that may be missing */
	TRANSFER_SUBJECT, /* number of a row of the table that the event's kind names */
	TRANSFER_EVENT, /* kind of an event */
	TRANSFER_INT, /* count of zero or more */
	TRANSFER_SIGNED,
	TRANSFER_TIME,
	TRANSFER_FLAG,
	TRANSFER_TEXT,
	TRANSFER_SLUG,
	TRANSFER_IS, /* always the value of the member `is` */
	TRANSFER_TYPE, /* value of the type `type` of schema/ */
};

struct transfer_column {
	const char *name;
	enum transfer_kind kind;
	bool text; /* true for a text, false for an integer */
	bool null; /* the value may be NULL */
	bool none; /* zero or a negative number stands for no row */
	int table; /* index in transfer_table[], or -1 without a table */
	int64_t is;
	const char *type;
	const char *loose; /* statement that finds a number without a row */
};

enum { TRANSFER_COLUMNS = 32 };

struct transfer_table {
	const char *name;
	const struct transfer_column *columns;
	int n_columns;
	/* The texts of the table's statements. `all` reads all rows, and `of_team` reads the
	 * rows of a team and of all teams below. `count` and `count_of_team` count these rows.
	 * `last` reads the highest key, and is NULL for a table without a key. `add` inserts a
	 * row. */
	const char *all, *of_team, *count, *count_of_team, *last, *add;
};

extern const struct transfer_table transfer_table[];
extern const int transfer_count;

struct transfer_value {
	bool null;
	int64_t n;
	const char *text; /* NUL-terminated text, or NULL for an integer */
	size_t size;
};

/* The index of the table `name` in transfer_table[], or -1 if transfer_table[] does not contain
 * the table. */
int transfer_find(const char *name);

/* Calls `each` for every row of a table that belongs to the team `team` or to a team below. If
 * `team` is 0, calls `each` for every row of the table. The rows are in the order of the
 * primary key. The function stops when `each` returns a fault. The caller has begun a
 * transaction. */
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
/* Sets `*key` to the highest key of a table, or to 0 if the table is empty or has no key.
 * Returns 0 or a fault. */
int transfer_last(struct transfer *t, int table, int64_t *key, struct fault *f);
/* Adds a row.  The fault FAULT_INVALID says which rule of the table the row breaks. */
int transfer_add(struct transfer *t, int table, const struct transfer_value *values,
		 struct fault *f);
/* In a column of row numbers, finds a number above `from` whose row is missing. Returns 1 if a
 * number is found, 0 if not, or a negative fault code. */
int transfer_loose(struct transfer *t, int table, int column, int64_t from,
		   int64_t *number, struct fault *f);

#endif
