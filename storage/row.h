/*
 * row - from a caller's struct to parameters, from columns to a row.
 */
#ifndef STORAGE_ROW_H
#define STORAGE_ROW_H

#include <sqlite3.h>

#include "storage/stmt.h"

/* Bind the parameters of a statement, and read a row; both return an SQLite result.
 * Texts and blobs that are bound are borrowed; texts and blobs that are read are copied
 * into the arena. */
int row_bind(sqlite3_stmt *st, const struct statement *t, const void *in);
int row_read(sqlite3_stmt *st, const struct slot *columns, int n, void *row,
	     struct arena *a);

#endif
