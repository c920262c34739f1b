#include "storage/search/search_vault.h"

#include "storage/search/search_inside.h"

enum { STALE_MOST = 2000 }; /* unused documents, beside as many used ones */

const char search_vault_schema[] =
	"CREATE TABLE vault_note (doc INTEGER PRIMARY KEY AUTOINCREMENT,"
	" path TEXT NOT NULL UNIQUE, ino INTEGER NOT NULL, mtime INTEGER NOT NULL,"
	" size INTEGER NOT NULL, mirrored INTEGER NOT NULL) STRICT;"
	"CREATE INDEX vault_note_own ON vault_note(path) WHERE mirrored = 0;"
	"CREATE TABLE vault_tag (doc INTEGER NOT NULL, tag TEXT NOT NULL,"
	" PRIMARY KEY (tag, doc)) STRICT, WITHOUT ROWID;"
	"CREATE INDEX vault_tag_doc ON vault_tag(doc);"
	"CREATE VIRTUAL TABLE vault_text USING fts5(scope, body, content='',"
	" columnsize=0, tokenize='unicode61 remove_diacritics 2');";

const char search_vault_drop[] = "DROP TABLE IF EXISTS vault_note;"
				 "DROP TABLE IF EXISTS vault_tag;"
				 "DROP TABLE IF EXISTS vault_text;";

/* --- rows ------------------------------------------------------------------------ */

static int ended(struct search *s, sqlite3_stmt *st, int rc, struct fault *f)
{
	if (rc == SQLITE_ERROR) {
		fault_set(f, FAULT_INVALID, "/query", "%s", sqlite3_errmsg(s->db));
		fault_hint(f, "put what is not a word in \"quotes\"");
	} else if (rc != SQLITE_DONE) {
		search_failed(s, rc, "read", f);
	}
	if (st) {
		sqlite3_reset(st);
		sqlite3_clear_bindings(st);
	}
	return f->code;
}

static const char *column(sqlite3_stmt *st, int i, struct arena *a)
{
	return arena_strdup(a, (const char *)sqlite3_column_text(st, i));
}

/* Rows of path, ino, mtime and size. */
static int read_notes(struct search *s, int id, struct arena *a, struct search_notes *out,
		      struct fault *f)
{
	sqlite3_stmt *st = search_stmt(s, id);
	int rc = st ? SQLITE_OK : sqlite3_errcode(s->db);

	*out = (struct search_notes){ 0 };
	while (st && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct search_note *note = arena_push(a, &out->v, &out->n, sizeof(*note));

		*note = (struct search_note){
			.path = column(st, 0, a),
			.stamp = { sqlite3_column_int64(st, 1),
				   sqlite3_column_int64(st, 2),
				   sqlite3_column_int64(st, 3) },
		};
	}
	return ended(s, st, rc, f);
}

int search_notes_all(struct search *s, enum search_vault which, struct arena *a,
		     struct search_notes *out, struct fault *f)
{
	return read_notes(s, which == SEARCH_OWN ? SEARCH_VAULT_OWN : SEARCH_VAULT_ALL, a,
			  out, f);
}

int search_notes_find(struct search *s, enum search_vault which,
		      const struct search_query *q, const char *tag, struct arena *a,
		      struct search_notes *out, struct fault *f)
{
	int id = q ? SEARCH_VAULT_MATCH : SEARCH_VAULT_LIST;
	sqlite3_stmt *st = search_stmt(s, id);

	if (st && tag)
		search_bind(st, 1, tag);
	if (st && q)
		search_bind(st, 2,
			    arena_printf(a, "%sbody : %s",
					 which == SEARCH_OWN ? "scope : own AND " : "",
					 q->match));
	return read_notes(s, id, a, out, f);
}

int search_notes_tags(struct search *s, struct arena *a, struct search_tag **out,
		      size_t *n, struct fault *f)
{
	sqlite3_stmt *st = search_stmt(s, SEARCH_VAULT_TAGS);
	int rc = st ? SQLITE_OK : sqlite3_errcode(s->db);

	*n = 0;
	while (st && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct search_tag *t = arena_push(a, out, n, sizeof(*t));

		*t = (struct search_tag){ column(st, 0, a), column(st, 1, a) };
	}
	return ended(s, st, rc, f);
}

/* A look that took some time is not repeated before REST times as long has passed since
 * it began, but after at most REST_MOST ms. */
enum { REST = 20, REST_MOST = 1000 };

bool search_notes_rest(const struct search *s, int64_t now)
{
	return now < s->rest_until;
}

void search_notes_looked(struct search *s, int64_t from, int64_t to)
{
	int64_t ms = REST * (to - from);

	s->rest_until = from + (ms < REST_MOST ? ms : REST_MOST);
}

/* A look at the mirror's folders reads the name of every task's file.  It is not repeated
 * before SHOWN_REST times as long as it took, but after at most SHOWN_REST_MOST ms. */
enum { SHOWN_REST = 2000, SHOWN_REST_MOST = 30000 };

bool search_shown_rest(const struct search *s, int64_t now)
{
	return now < s->shown_until;
}

void search_shown_looked(struct search *s, int64_t from, int64_t to)
{
	int64_t ms = SHOWN_REST * (to - from);

	s->shown_until = from + (ms < SHOWN_REST_MOST ? ms : SHOWN_REST_MOST);
}

/* --- changes ------------------------------------------------------------------------ */

int search_notes_begin(struct search *s, struct fault *f)
{
	int rc = search_run(s, SEARCH_BEGIN);

	if (rc == SQLITE_OK)
		return 1;
	return search_is_busy(rc) ? 0 : search_failed(s, rc, "write", f);
}

static int64_t number(struct search *s, int id)
{
	sqlite3_stmt *st = search_stmt(s, id);
	int64_t n = st && sqlite3_step(st) == SQLITE_ROW ? sqlite3_column_int64(st, 0)
							 : 0;

	if (st)
		sqlite3_reset(st);
	return n;
}

/* Empties the index when it has many unused documents, which make it slow and large; the
 * next look indexes everything anew. */
static int empty_stale(struct search *s)
{
	int rc;

	if (number(s, SEARCH_VAULT_STALE) < STALE_MOST)
		return SQLITE_OK;
	rc = search_exec(s, search_vault_drop);
	return rc ? rc : search_exec(s, search_vault_schema);
}

int search_notes_end(struct search *s, struct fault *f)
{
	int rc = f->code ? SQLITE_ABORT : empty_stale(s);

	if (rc == SQLITE_OK)
		rc = search_mark(s);
	if (rc == SQLITE_OK)
		rc = search_run(s, SEARCH_COMMIT);
	if (!sqlite3_get_autocommit(s->db))
		search_run(s, SEARCH_ROLLBACK);
	if (rc == SQLITE_OK)
		search_copy_wal(s);
	return f->code || rc == SQLITE_OK ? (int)f->code
					  : search_failed(s, rc, "write", f);
}

static int run_path(struct search *s, int id, const char *path)
{
	sqlite3_stmt *st = search_stmt(s, id);

	if (st)
		search_bind(st, 1, path);
	return search_run(s, id);
}

int search_note_drop(struct search *s, const char *path, struct fault *f)
{
	int rc = run_path(s, SEARCH_VAULT_UNTAG, path);

	if (rc == SQLITE_OK)
		rc = run_path(s, SEARCH_VAULT_DROP, path);
	return rc == SQLITE_OK ? 0 : search_failed(s, rc, "write", f);
}

static int add_row(struct search *s, const struct search_note *note)
{
	sqlite3_stmt *st = search_stmt(s, SEARCH_VAULT_ADD);

	if (!st)
		return sqlite3_errcode(s->db);
	search_bind(st, 1, note->path);
	sqlite3_bind_int64(st, 2, note->stamp.ino);
	sqlite3_bind_int64(st, 3, note->stamp.mtime_ns);
	sqlite3_bind_int64(st, 4, note->stamp.size);
	sqlite3_bind_int64(st, 5, note->mirrored);
	return search_run(s, SEARCH_VAULT_ADD);
}

static int add_text(struct search *s, int64_t doc, const struct search_note *note,
		    const char *text)
{
	sqlite3_stmt *st = search_stmt(s, SEARCH_VAULT_TEXT);

	if (!st)
		return sqlite3_errcode(s->db);
	sqlite3_bind_int64(st, 1, doc);
	search_bind(st, 2, text);
	search_bind(st, 3, note->mirrored ? "mirrored" : "own");
	return search_run(s, SEARCH_VAULT_TEXT);
}

static int add_tag(struct search *s, int64_t doc, const char *tag)
{
	sqlite3_stmt *st = search_stmt(s, SEARCH_VAULT_TAG);

	if (!st)
		return sqlite3_errcode(s->db);
	sqlite3_bind_int64(st, 1, doc);
	search_bind(st, 2, tag);
	return search_run(s, SEARCH_VAULT_TAG);
}

int search_note_put(struct search *s, const struct search_note *note,
		    const struct search_body *body, struct fault *f)
{
	int64_t doc;
	int rc = search_note_drop(s, note->path, f);

	if (rc < 0)
		return rc;
	rc = add_row(s, note);
	doc = sqlite3_last_insert_rowid(s->db);
	if (rc == SQLITE_OK)
		rc = add_text(s, doc, note, body->text);
	for (size_t i = 0; rc == SQLITE_OK && i < body->n_tags; i++)
		rc = add_tag(s, doc, body->tags[i]);
	return rc == SQLITE_OK ? 0 : search_failed(s, rc, "write", f);
}
