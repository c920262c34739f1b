#include "storage/side.h"

#include <assert.h>

#include "storage/row.h"
#include "storage/words.h"

static int side_step(struct side_db *d, sqlite3_stmt *st)
{
	if (d->fail_after > 0 && --d->fail_after == 0) {
		d->fail_after = -1;
		return d->fail_with;
	}
	return sqlite3_step(st);
}

int side_start(struct side_db *d, int id, const void *in)
{
	sqlite3_stmt **st = &d->prepared[id];
	int rc = SQLITE_OK;

	if (!*st)
		rc = sqlite3_prepare_v3(d->db, d->table[id].text, -1,
					SQLITE_PREPARE_PERSISTENT, st, NULL);
	return rc == SQLITE_OK ? row_bind(*st, &d->table[id], in) : rc;
}

void side_end(struct side_db *d, int id)
{
	sqlite3_reset(d->prepared[id]);
}

int side_next(struct side_db *d, int id, void *row, size_t size, struct arena *a)
{
	const struct statement *t = &d->table[id];
	int rc = side_step(d, d->prepared[id]), read;

	assert(t->n_columns && size == t->row_size);
	(void)size;
	if (rc == SQLITE_ROW &&
	    (read = row_read(d->prepared[id], t->columns, t->n_columns, row, a)))
		rc = read;
	if (rc != SQLITE_ROW)
		side_end(d, id);
	return rc;
}

int side_run(struct side_db *d, int id, const void *in)
{
	int rc = side_start(d, id, in);

	if (rc != SQLITE_OK)
		return rc;
	rc = side_step(d, d->prepared[id]);
	side_end(d, id);
	return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

int side_row(struct side_db *d, int id, const void *in, void *row, size_t size,
	     struct arena *a)
{
	int rc = side_start(d, id, in);

	if (rc != SQLITE_OK)
		return rc;
	rc = side_next(d, id, row, size, a);
	if (rc == SQLITE_ROW)
		side_end(d, id);
	return rc;
}

int side_exec(struct side_db *d, const char *script)
{
	return sqlite3_exec(d->db, script, NULL, NULL, NULL);
}

int side_version(struct side_db *d, int *version)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(d->db, SQL_VERSION, -1, &st, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		*version = sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

void side_close(struct side_db *d)
{
	for (int i = 0; i < d->n; i++) {
		sqlite3_finalize(d->prepared[i]);
		d->prepared[i] = NULL;
	}
	sqlite3_close(d->db);
	d->db = NULL;
}
