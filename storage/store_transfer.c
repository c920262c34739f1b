/* store_transfer - runs the statements of transfer_table[], which have no structs in C. */
#include "storage/store_transfer.h"

#include "core/base/alloc.h"
#include "storage/store_inside.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int transfer_find(const char *name)
{
	for (int i = 0; i < transfer_count; i++)
		if (!strcmp(transfer_table[i].name, name))
			return i;
	return -1;
}

/* --- exported rows ------------------------------------------------------------- */

/* Prepares a statement, and binds `number` if the statement has a parameter. */
static int store_transfer_ask(struct store *s, const char *sql, int64_t number,
			      sqlite3_stmt **st)
{
	int rc = sqlite3_prepare_v2(s->db, sql, -1, st, NULL);

	if (rc == SQLITE_OK && sqlite3_bind_parameter_count(*st))
		rc = sqlite3_bind_int64(*st, 1, number);
	return rc;
}

/* Reads the number in the first row of a statement. Returns 1 if there is a row, 0 if there is
 * no row, or a negative fault code. */
static int store_transfer_ask_number(struct store *s, const char *sql, int64_t number,
				     int64_t *out, struct fault *f)
{
	sqlite3_stmt *st = NULL;
	int rc = store_transfer_ask(s, sql, number, &st);

	if (rc == SQLITE_OK)
		rc = store_step(s, st);
	if (rc == SQLITE_ROW)
		*out = sqlite3_column_int64(st, 0);
	else if (rc != SQLITE_DONE)
		store_fault(s, rc, "transfer", f);
	sqlite3_finalize(st);
	return f->code ? (int)f->code : rc == SQLITE_ROW;
}

static void read_values(sqlite3_stmt *st, int n, struct transfer_value *values)
{
	for (int i = 0; i < n; i++) {
		struct transfer_value *v = &values[i];
		int type = sqlite3_column_type(st, i);

		*v = (struct transfer_value){ .null = type == SQLITE_NULL };
		if (type == SQLITE_INTEGER)
			v->n = sqlite3_column_int64(st, i);
		else if (!v->null)
			v->text = (const char *)sqlite3_column_text(st, i);
		v->size = (size_t)sqlite3_column_bytes(st, i);
	}
}

int transfer_rows(struct store *s, int table, int64_t team, transfer_each *each,
		  void *with, struct fault *f)
{
	const struct transfer_table *t = &transfer_table[table];
	struct transfer_value values[TRANSFER_COLUMNS];
	sqlite3_stmt *st = NULL;
	int rc = store_transfer_ask(s, team ? t->of_team : t->all, team, &st);

	assert(t->n_columns <= TRANSFER_COLUMNS);
	while (rc == SQLITE_OK || rc == SQLITE_ROW) {
		if ((rc = store_step(s, st)) != SQLITE_ROW)
			break;
		read_values(st, t->n_columns, values);
		if (each(with, values, f) < 0)
			break;
	}
	if (!f->code && rc != SQLITE_DONE)
		store_fault(s, rc, t->name, f);
	sqlite3_finalize(st);
	return f->code;
}

int transfer_number(struct store *s, int table, int64_t team, int64_t *n, struct fault *f)
{
	const struct transfer_table *t = &transfer_table[table];

	*n = 0;
	return store_transfer_ask_number(s, team ? t->count_of_team : t->count, team, n,
					 f);
}

/* --- imported rows ---------------------------------------------------------------- */

struct transfer {
	struct store *store;
	sqlite3_stmt *add[]; /* one statement for each table */
};

struct transfer *transfer_begin(struct store *s)
{
	size_t size = (size_t)transfer_count * sizeof(sqlite3_stmt *);
	struct transfer *t = xcalloc(1, sizeof(*t) + size);

	assert(s->writing);
	t->store = s;
	return t;
}

void transfer_end(struct transfer *t)
{
	for (int i = 0; t && i < transfer_count; i++)
		sqlite3_finalize(t->add[i]);
	free(t);
}

int transfer_last(struct transfer *t, int table, int64_t *key, struct fault *f)
{
	*key = 0;
	if (!transfer_table[table].last)
		return 0;
	return store_transfer_ask_number(t->store, transfer_table[table].last, 0, key,
					 f) < 0
		       ? (int)f->code
		       : 0;
}

static int store_transfer_bind(sqlite3_stmt *st, int n,
			       const struct transfer_value *values)
{
	int rc = SQLITE_OK;

	for (int i = 0; i < n && rc == SQLITE_OK; i++) {
		const struct transfer_value *v = &values[i];

		if (v->null)
			rc = sqlite3_bind_null(st, i + 1);
		else if (v->text)
			rc = sqlite3_bind_text64(st, i + 1, v->text, v->size,
						 SQLITE_STATIC, SQLITE_UTF8);
		else
			rc = sqlite3_bind_int64(st, i + 1, v->n);
	}
	return rc;
}

int transfer_add(struct transfer *t, int table, const struct transfer_value *values,
		 struct fault *f)
{
	const struct transfer_table *def = &transfer_table[table];
	struct store *s = t->store;
	sqlite3_stmt **st = &t->add[table];
	int rc = SQLITE_OK;

	if (!store_intact(s))
		return fault_set(f, FAULT_UNAVAILABLE, "", "the transaction is over");
	if (!*st) {
		kept_forget(&s->kept);
		rc = sqlite3_prepare_v2(s->db, def->add, -1, st, NULL);
	}
	if (rc == SQLITE_OK)
		rc = store_transfer_bind(*st, def->n_columns, values);
	if (rc == SQLITE_OK)
		rc = store_step(s, *st);
	if ((rc & 0xff) == SQLITE_CONSTRAINT)
		fault_set(f, FAULT_INVALID, "", "%s", sqlite3_errmsg(s->db));
	else if (rc != SQLITE_DONE)
		store_fault(s, rc, def->name, f);
	sqlite3_reset(*st);
	return f->code;
}

int transfer_loose(struct transfer *t, int table, int column, int64_t from,
		   int64_t *number, struct fault *f)
{
	const char *sql = transfer_table[table].columns[column].loose;

	return sql ? store_transfer_ask_number(t->store, sql, from, number, f) : 0;
}
