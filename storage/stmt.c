/* stmt - prepares, runs and resets the statements of the state. */
#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/op/op.h"
#include "storage/row.h"
#include "storage/store_inside.h"
#include "storage/words.h"

struct kept_row {
	uint64_t age, hash;
	enum sql id;
	size_t n_key;
	char key[KEPT_KEY];
	char row[]; /* the row's struct, then the bytes of the struct's texts */
};

struct key {
	size_t n;
	uint64_t hash;
	char bytes[KEPT_KEY];
};

/* --- keys --------------------------------------------------------------------- */

static bool key_put(struct key *k, const void *data, size_t n)
{
	if (k->n + n > sizeof(k->bytes))
		return false;
	memcpy(k->bytes + k->n, data, n);
	k->n += n;
	return true;
}

static bool key_put_slot(struct key *k, const struct slot *slot, const char *at)
{
	const char *text = *(const char *const *)at;
	const struct blob *b = (const struct blob *)at;

	switch (slot->kind) {
	case SLOT_INT:
		return key_put(k, at, sizeof(int64_t));
	case SLOT_BOOL:
		return key_put(k, at, sizeof(bool));
	case SLOT_TEXT:
		return text ? key_put(k, text, strlen(text) + 1) : false;
	case SLOT_BLOB:
		return key_put(k, &b->size, sizeof(b->size)) &&
		       key_put(k, b->data, b->size);
	}
	return false;
}

/* Fills the key of a row with the statement's parameters as bytes. Returns false if the
 * parameters are too long for a key, or if a text is NULL. */
static bool kept_key_of(struct key *k, enum sql id, const void *in)
{
	const struct statement *t = &statement_table[id];

	k->n = 0;
	for (int i = 0; i < t->n_params; i++)
		if (!key_put_slot(k, &t->params[i], (const char *)in + t->params[i].at))
			return false;
	k->hash = hash_more(HASH_EMPTY ^ (uint64_t)id, k->bytes, k->n);
	return true;
}

/* Returns the first of the two neighbouring places for a row with this key. */
static struct kept_row **kept_place_of(struct kept *k, const struct key *key)
{
	return &k->places[(key->hash ^ key->hash >> 32) % (KEPT_PLACES / 2) * 2];
}

static bool is_row_of(const struct kept_row *r, enum sql id, const struct key *key)
{
	return r->hash == key->hash && r->id == id && r->n_key == key->n &&
	       memcmp(r->key, key->bytes, key->n) == 0;
}

static bool is_forgotten(const struct kept *k, const struct kept_row *r)
{
	return r->age != k->age[statement_table[r->id].kept];
}

static const struct kept_row *kept_row_of(struct kept *k, enum sql id,
					  const struct key *key)
{
	struct kept_row **place = kept_place_of(k, key);

	for (int i = 0; i < 2; i++)
		if (place[i] && is_row_of(place[i], id, key) &&
		    !is_forgotten(k, place[i]))
			return place[i];
	return NULL;
}

/* Puts a row into one of the two places for its key. If places[0] holds a forgotten row, the
 * new row replaces this row. Otherwise the new row replaces the older of the two rows. */
static void kept_put_row(struct kept *k, const struct key *key, struct kept_row *r)
{
	struct kept_row **place = kept_place_of(k, key);

	if (place[0] && is_forgotten(k, place[0])) {
		free(place[0]);
	} else {
		free(place[1]);
		place[1] = place[0];
	}
	place[0] = r;
}

/* --- rows --------------------------------------------------------------------- */

/* The size of a text with its NUL, or of a blob, in bytes. Sets `*where` to the address of the
 * row's pointer to the text or blob. */
static size_t kept_bytes_of(const struct slot *slot, char *row, const void ***where)
{
	struct blob *b = (struct blob *)(row + slot->at);

	*where = (const void **)(row + slot->at);
	if (slot->kind == SLOT_BLOB)
		return b->size;
	return slot->kind == SLOT_TEXT && **where ? strlen(**where) + 1 : 0;
}

/* Fills `row` from a kept row, and copies the row's texts into the arena. Returns false if no
 * such row is kept. */
static bool kept_find(struct kept *k, enum sql id, const void *in, void *row,
		      struct arena *a)
{
	const struct statement *t = &statement_table[id];
	const struct kept_row *r;
	const void **where;
	struct key key;
	size_t n;

	if (!kept_key_of(&key, id, in) || !(r = kept_row_of(k, id, &key)))
		return false;
	memcpy(row, r->row, t->row_size);
	for (int i = 0; i < t->n_columns; i++)
		if ((n = kept_bytes_of(&t->columns[i], row, &where)))
			*where = memcpy(arena_alloc(a, n), *where, n);
	return true;
}

static void kept_add(struct kept *k, enum sql id, const void *in, const void *row)
{
	const struct statement *t = &statement_table[id];
	size_t n, size = t->row_size;
	struct kept_row *r;
	const void **where;
	struct key key;
	char *end;

	if (!kept_key_of(&key, id, in))
		return;
	for (int i = 0; i < t->n_columns; i++)
		size += kept_bytes_of(&t->columns[i], (char *)(uintptr_t)row, &where);
	if (!(r = malloc(sizeof(*r) + size)))
		return;
	*r = (struct kept_row){ k->age[t->kept], key.hash, id, key.n, { 0 } };
	memcpy(r->key, key.bytes, key.n);
	end = memcpy(r->row, row, t->row_size);
	end += t->row_size;
	for (int i = 0; i < t->n_columns; i++) {
		if (!(n = kept_bytes_of(&t->columns[i], r->row, &where)))
			continue;
		*where = memcpy(end, *where, n);
		end += n;
	}
	kept_put_row(k, &key, r);
}

/* --- forgetting ------------------------------------------------------------------ */

void kept_forget(struct kept *k)
{
	for (int i = 0; i < KEPT_STATEMENTS; i++)
		k->age[i]++;
}

/* A number that changes whenever all rows are forgotten. */
static uint64_t kept_age(const struct kept *k)
{
	return k->age[0];
}

/* Forgets the rows of each statement whose bit is set in `statements`. */
static void kept_invalidate(struct kept *k, unsigned statements)
{
	for (; statements; statements &= statements - 1)
		k->age[__builtin_ctz(statements)]++;
}

void kept_check(struct kept *k, uint32_t version)
{
	if (version != k->version)
		kept_forget(k);
	k->version = version;
}

void kept_release(struct kept *k)
{
	for (int i = 0; i < KEPT_PLACES; i++)
		free(k->places[i]);
	*k = (struct kept){ 0 };
}

/* Returns the failure that a test wants at this step, or SQLITE_OK. */
static int store_injected(struct store *s)
{
	int rc = s->fail_with;

	if (s->fail_after == 0 || --s->fail_after > 0)
		return SQLITE_OK;
	switch (rc & 0xff) {
	case SQLITE_FULL:
	case SQLITE_IOERR:
	case SQLITE_NOMEM:
	case SQLITE_INTERRUPT:
		/* After these failures, SQLite may roll the whole transaction back, so the
		 * test's failure rolls it back, too. */
		if (s->db && !sqlite3_get_autocommit(s->db))
			sqlite3_exec(s->db, SQL_ROLLBACK, NULL, NULL, NULL);
		break;
	default:
		break;
	}
	return rc;
}

int store_step(struct store *s, sqlite3_stmt *st)
{
	int rc = s->fail_after ? store_injected(s) : SQLITE_OK;

	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	s->full |= rc == SQLITE_FULL;
	return rc;
}

bool store_found_full(struct store *s)
{
	bool full = s->full;

	s->full = false;
	return full;
}

/* --- preparing -------------------------------------------------------------- */

static struct slot slot_of(const struct field *field)
{
	static const enum slot_kind kinds[] = {
		[KIND_TEXT] = SLOT_TEXT, [KIND_JSON] = SLOT_TEXT, [KIND_INT] = SLOT_INT,
		[KIND_TIME] = SLOT_INT,  [KIND_ENUM] = SLOT_INT,  [KIND_BOOL] = SLOT_BOOL,
	};

	assert(field->type->kind < sizeof(kinds) / sizeof(*kinds));
	assert(!(field->flags & FIELD_LIST));
	assert(field->type->kind != KIND_MAP);
	return (struct slot){ kinds[field->type->kind], field->at, field->at2 };
}

static const struct field *field_exact(const struct record *r, const char *name)
{
	for (size_t i = 0; i < r->n_fields; i++)
		if (strcmp(r->fields[i].name, name) == 0)
			return &r->fields[i];
	return NULL;
}

static struct slot *find_slots(sqlite3_stmt *st, const struct record *r)
{
	int n = sqlite3_column_count(st);
	struct slot *slots = malloc((size_t)n * sizeof(*slots));

	for (int i = 0; slots && i < n; i++) {
		const struct field *field = field_exact(r, sqlite3_column_name(st, i));

		assert(field);
		slots[i] = slot_of(field);
	}
	return slots;
}

static int stmt_prepare(struct store *s, enum sql id)
{
	const struct statement *t = &statement_table[id];
	struct prepared *p = &s->stmts[id];
	int rc;

	if (!s->db)
		return SQLITE_CANTOPEN;
	rc = sqlite3_prepare_v3(s->db, t->text, -1, SQLITE_PREPARE_PERSISTENT, &p->stmt,
				NULL);
	if (rc != SQLITE_OK)
		return rc;
	p->columns = t->columns;
	if (t->record && !p->found) {
		p->found = find_slots(p->stmt, t->record);
		if (!p->found) {
			sqlite3_finalize(p->stmt);
			p->stmt = NULL;
			return SQLITE_NOMEM;
		}
	}
	if (t->record)
		p->columns = p->found;
	return SQLITE_OK;
}

/* --- rows ----------------------------------------------------------------------- */

static void stmt_check_size(enum sql id, size_t size)
{
	const struct statement *t = &statement_table[id];

	assert(t->n_columns && size == (t->record ? t->record->size : t->row_size));
	(void)t;
	(void)size;
}

/* --- running ----------------------------------------------------------------- */

/* Prepares and binds the statement, but does not run it.  Returns an SQLite result. */
static int ready(struct store *s, enum sql id, const void *in)
{
	struct prepared *p = &s->stmts[id];
	int rc = SQLITE_OK;

	assert(!p->busy);
	if (!statement_table[id].readonly) {
		assert(s->writing);
		/* If a failure has rolled the transaction back, the statement would run outside
		 * a transaction, and its change would be committed alone. */
		if (!store_intact(s))
			return SQLITE_ABORT;
		kept_invalidate(&s->kept, statement_table[id].invalidates);
	}
	if (!p->stmt)
		rc = stmt_prepare(s, id);
	return rc == SQLITE_OK ? row_bind(p->stmt, &statement_table[id], in) : rc;
}

/*~ A statement and its parameters.  Station 10 of 12.
 *
 * Statements are not written in C. Each statement has a name in a .sql file of storage/. A
 * program of the build (tools/build/sqlgen.c) asks SQLite itself, with the real schema, for the
 * parameters and columns of each statement. sqlgen writes a struct for the parameters and a
 * struct for the columns. For this reason sql_run(call, task_claim, .agent = ...) with a
 * misspelled field does not compile. A renamed column breaks the build, and not a running
 * program. sqlgen also refuses a statement that reads a whole table, unless the comment above
 * the statement gives a reason.
 *
 * A statement is prepared on first use, and stays prepared until the connection is closed. To
 * run a prepared statement, the program binds the parameters and calls sqlite3_step(). Prepared
 * statements are the main reason why a call costs tens of microseconds and not milliseconds.
 *
 * The next station is the statement task_claim, which is worth reading slowly.
 *
 * Next: storage/task.sql
 */
int store_run(struct store *s, enum sql id, const void *in, struct fault *f)
{
	sqlite3_stmt *st;
	int64_t changes;
	int rc = ready(s, id, in), end;

	if (rc != SQLITE_OK)
		return store_fault(s, rc, statement_table[id].name, f);
	st = s->stmts[id].stmt;
	rc = store_step(s, st);
	if (rc != SQLITE_DONE && rc != SQLITE_ROW) {
		store_fault(s, rc, statement_table[id].name, f);
		sqlite3_reset(st);
		return f->code;
	}
	/* The first step has changed all rows, even the rows that were not returned. At the end
	 * of the statement, a foreign key can still refuse the changes. */
	end = sqlite3_reset(st);
	if (end != SQLITE_OK)
		return store_fault(s, end, statement_table[id].name, f);
	if (statement_table[id].readonly || statement_table[id].late)
		return 0;
	changes = sqlite3_changes64(s->db);
	return changes < INT_MAX ? (int)changes : INT_MAX;
}

int store_row(struct store *s, enum sql id, const void *in, void *row, size_t size,
	      struct arena *a, struct fault *f)
{
	bool keeps = s->writing && statement_table[id].kept;
	struct prepared *p = &s->stmts[id];
	int rc, got, end;

	stmt_check_size(id, size);
	if (keeps && kept_find(&s->kept, id, in, row, a))
		return 1;
	rc = ready(s, id, in);
	if (rc != SQLITE_OK)
		return store_fault(s, rc, statement_table[id].name, f);
	got = rc = store_step(s, p->stmt);
	if (got == SQLITE_ROW)
		rc = row_read(p->stmt, p->columns, statement_table[id].n_columns, row, a);
	else if (got == SQLITE_DONE)
		rc = SQLITE_OK;
	if (rc != SQLITE_OK)
		store_fault(s, rc, statement_table[id].name, f);
	end = sqlite3_reset(p->stmt);
	if (rc == SQLITE_OK && end != SQLITE_OK)
		rc = end;
	if (rc != SQLITE_OK)
		return store_fault(s, rc, statement_table[id].name, f);
	if (got != SQLITE_ROW)
		return statement_table[id].always ? store_no_own_row(f) : 0;
	if (keeps)
		kept_add(&s->kept, id, in, row);
	return 1;
}

void store_query(struct store *s, struct query *q, enum sql id, const void *in)
{
	*q = (struct query){ .store = s, .id = id, .open = true };
	q->rc = ready(s, id, in);
	s->stmts[id].busy = true;
	s->n_queries++;
}

void query_end(struct query *q)
{
	struct prepared *p;

	if (!q->open)
		return;
	p = &q->store->stmts[q->id];
	q->open = false;
	if (!p->busy) /* a rollback has ended the query */
		return;
	p->busy = false;
	q->store->n_queries--;
	sqlite3_reset(p->stmt);
}

int query_over(struct query *q, int rc)
{
	query_end(q);
	return rc < 0 ? rc : 0;
}

int store_next(struct query *q, void *row, size_t size, struct arena *a, struct fault *f)
{
	const struct prepared *p = &q->store->stmts[q->id];
	struct store *s = q->store;
	int rc = q->rc;

	stmt_check_size(q->id, size);
	if (!q->open)
		return 0;
	if (rc == SQLITE_OK)
		rc = store_step(s, p->stmt);
	if (rc == SQLITE_ROW) {
		rc = row_read(p->stmt, p->columns, statement_table[q->id].n_columns, row,
			      a);
		if (rc == SQLITE_OK)
			return 1;
	}
	if (rc != SQLITE_DONE)
		store_fault(s, rc, statement_table[q->id].name, f);
	query_end(q);
	return rc == SQLITE_DONE ? 0 : f->code;
}

int64_t store_new_id(struct store *s, enum sql ask, struct fault *f)
{
	const struct sql_message_new_id_in none = { 0 };
	struct prepared *p = &s->stmts[ask];
	struct new_id_row row;
	int rc;

	if (!p->next_id || p->next_id_age != kept_age(&s->kept)) {
		rc = store_row(s, ask, &none, &row, sizeof(row), NULL, f);
		if (rc <= 0)
			return rc < 0 ? rc : fault_set(f, FAULT_INTERNAL, "", "no id");
		p->next_id = row.id;
		p->next_id_age = kept_age(&s->kept);
	}
	return p->next_id++;
}

void store_renumber(struct store *s, enum sql ask)
{
	s->stmts[ask].next_id = 0;
}

void stmt_reset_all(struct store *s)
{
	for (int i = 0; s->n_queries > 0 && i < SQL_COUNT; i++) {
		if (!s->stmts[i].busy)
			continue;
		s->stmts[i].busy = false;
		s->n_queries--;
		sqlite3_reset(s->stmts[i].stmt);
	}
}

void stmt_release_all(struct store *s)
{
	stmt_reset_all(s);
	for (int i = 0; i < SQL_COUNT; i++) {
		sqlite3_finalize(s->stmts[i].stmt);
		free(s->stmts[i].found);
		s->stmts[i] = (struct prepared){ 0 };
	}
	for (int i = 0; i < OWN_COUNT; i++) {
		sqlite3_finalize(s->own[i]);
		s->own[i] = NULL;
	}
}
