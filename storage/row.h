/*
 * row - copies a caller's struct to the parameters of a statement, and the columns of a result
 * row to a struct.
 */
#ifndef STORAGE_ROW_H
#define STORAGE_ROW_H

#include <sqlite3.h>

#include "storage/stmt.h"

/* row_bind() binds the parameters of a statement, and row_read() reads a row. Both return an
 * SQLite result. row_bind() borrows texts and blobs from the struct. row_read() copies texts
 * and blobs into the arena. */
int row_bind(sqlite3_stmt *st, const struct statement *t, const void *in);
int row_read(sqlite3_stmt *st, const struct slot *columns, int n, void *row,
	     struct arena *a);

#endif
