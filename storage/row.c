#include "storage/row.h"

#include <string.h>

int row_bind(sqlite3_stmt *st, const struct statement *t, const void *in)
{
	int rc = SQLITE_OK;

	for (int i = 0; i < t->n_params && rc == SQLITE_OK; i++) {
		const char *at = (const char *)in + t->params[i].at;
		const struct blob *b = (const struct blob *)at;

		switch (t->params[i].kind) {
		case SLOT_INT:
			rc = sqlite3_bind_int64(st, i + 1, *(const int64_t *)at);
			break;
		case SLOT_TEXT:
			rc = sqlite3_bind_text(st, i + 1, *(const char *const *)at, -1,
					       SQLITE_STATIC);
			break;
		case SLOT_BLOB:
			rc = sqlite3_bind_blob64(st, i + 1, b->size ? b->data : NULL,
						 b->size, SQLITE_STATIC);
			break;
		case SLOT_BOOL:
			rc = sqlite3_bind_int(st, i + 1, *(const bool *)at);
			break;
		}
	}
	return rc;
}

/* Reads a text into the arena.  Returns SQLITE_NOMEM if SQLite had no memory for the text. */
static int row_read_text(sqlite3_stmt *st, int i, const char **out, struct arena *a)
{
	const char *text = (const char *)sqlite3_column_text(st, i);

	*out = NULL;
	if (!text)
		return sqlite3_column_type(st, i) == SQLITE_NULL ? SQLITE_OK
								 : SQLITE_NOMEM;
	*out = arena_strndup(a, text, (size_t)sqlite3_column_bytes(st, i));
	return SQLITE_OK;
}

static int read_blob(sqlite3_stmt *st, int i, struct blob *out, struct arena *a)
{
	const void *data = sqlite3_column_blob(st, i);
	size_t size = (size_t)sqlite3_column_bytes(st, i);

	*out = (struct blob){ NULL, 0 };
	if (!size)
		return SQLITE_OK;
	if (!data)
		return SQLITE_NOMEM;
	out->data = memcpy(arena_alloc(a, size), data, size);
	out->size = size;
	return SQLITE_OK;
}

int row_read(sqlite3_stmt *st, const struct slot *columns, int n, void *row,
	     struct arena *a)
{
	int rc = SQLITE_OK;

	for (int i = 0; i < n && rc == SQLITE_OK; i++) {
		const struct slot *slot = &columns[i];
		void *at = (char *)row + slot->at;

		switch (slot->kind) {
		case SLOT_INT:
			*(int64_t *)at = sqlite3_column_int64(st, i);
			break;
		case SLOT_TEXT:
			rc = row_read_text(st, i, at, a);
			break;
		case SLOT_BLOB:
			rc = read_blob(st, i, at, a);
			break;
		case SLOT_BOOL:
			*(bool *)at = sqlite3_column_int(st, i) != 0;
			break;
		}
		if (slot->has)
			*(bool *)((char *)row + slot->has) = sqlite3_column_type(st, i) !=
							     SQLITE_NULL;
	}
	return rc;
}
