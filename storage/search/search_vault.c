#include "storage/search/search_vault.h"

#include "storage/search/search_inside.h"

/* At this value of index_stale, the index of notes is emptied. */
enum { STALE_MOST = 2000 };

/* --- rows ------------------------------------------------------------------------ */

/* Reads all rows of the query `id`. `rc` is the result of SIDE_START(). */
static int search_vault_read_notes(struct search *s, int id, int rc, struct arena *a,
				   struct search_notes *out, struct fault *f)
{
	struct index_note_row row;

	*out = (struct search_notes){ 0 };
	while (rc == SQLITE_OK || rc == SQLITE_ROW) {
		struct search_note *note;

		if ((rc = side_next(&s->side, id, &row, sizeof(row), a)) != SQLITE_ROW)
			break;
		note = arena_push(a, &out->v, &out->n, sizeof(*note));
		*note = (struct search_note){ .path = row.path,
					      .stamp = { row.ino, row.mtime, row.size } };
	}
	return search_ended(s, rc, f);
}

int search_notes_all(struct search *s, enum search_vault which, struct arena *a,
		     struct search_notes *out, struct fault *f)
{
	if (which == SEARCH_OWN)
		return search_vault_read_notes(s, sql_index_notes_own,
					       SIDE_START(&s->side, index_notes_own), a,
					       out, f);
	return search_vault_read_notes(s, sql_index_notes,
				       SIDE_START(&s->side, index_notes), a, out, f);
}

int search_notes_find(struct search *s, enum search_vault which,
		      const struct search_query *q, const char *tag, struct arena *a,
		      struct search_notes *out, struct fault *f)
{
	const char *match;

	if (!q)
		return search_vault_read_notes(
			s, sql_index_notes_tagged,
			SIDE_START(&s->side, index_notes_tagged, .tag = tag), a, out, f);
	match = arena_printf(a, "%sbody : %s",
			     which == SEARCH_OWN ? "scope : own AND " : "", q->match);
	return search_vault_read_notes(s, sql_index_notes_matching,
				       SIDE_START(&s->side, index_notes_matching,
						  .match = match, .tag = tag),
				       a, out, f);
}

int search_notes_tags(struct search *s, struct arena *a, struct search_tag **out,
		      size_t *n, struct fault *f)
{
	int rc = SIDE_START(&s->side, index_tags);
	struct index_tags_row row;

	*n = 0;
	while (rc == SQLITE_OK || rc == SQLITE_ROW) {
		rc = side_next(&s->side, sql_index_tags, &row, sizeof(row), a);
		if (rc == SQLITE_ROW)
			arena_add(a, *out, *n, (struct search_tag){ row.tag, row.path });
	}
	return search_ended(s, rc, f);
}

/* After a comparison of the vault's files with the index has begun, a pause must pass before
 * the next comparison begins. The pause is REST times as long as the comparison took, but at
 * most REST_MOST ms. */
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

/* A comparison of the mirror's folders with the index reads the name of every task's file.
 * After such a comparison has begun, a pause must pass before the next comparison begins. The
 * pause is SHOWN_REST times as long as the comparison took, but at most SHOWN_REST_MOST ms. */
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
	int rc = SIDE_RUN(&s->side, index_begin);

	if (rc == SQLITE_OK)
		return 1;
	return search_is_busy(rc) ? 0 : search_failed(s, rc, "write", f);
}

/* Empties the index of notes if it has many unused documents, since these make the index slow
 * and large. The next comparison of the files adds all notes again. */
static int empty_stale(struct search *s)
{
	struct index_stale_row stale = { 0 };

	if (SIDE_ROW(&s->side, index_stale, &stale, NULL) != SQLITE_ROW ||
	    stale.excess < STALE_MOST)
		return SQLITE_OK;
	return side_exec(&s->side, search_schema_vault);
}

int search_notes_end(struct search *s, struct fault *f)
{
	int rc = f->code ? SQLITE_ABORT : empty_stale(s);

	if (rc == SQLITE_OK)
		rc = search_mark(s);
	if (rc == SQLITE_OK)
		rc = SIDE_RUN(&s->side, index_commit);
	if (!sqlite3_get_autocommit(s->side.db))
		SIDE_RUN(&s->side, index_rollback);
	if (rc == SQLITE_OK)
		search_copy_wal(s);
	return f->code || rc == SQLITE_OK ? (int)f->code
					  : search_failed(s, rc, "write", f);
}

int search_note_drop(struct search *s, const char *path, struct fault *f)
{
	int rc = SIDE_RUN(&s->side, index_untag, .path = path);

	if (rc == SQLITE_OK)
		rc = SIDE_RUN(&s->side, index_drop_note, .path = path);
	return rc == SQLITE_OK ? 0 : search_failed(s, rc, "write", f);
}

int search_note_put(struct search *s, const struct search_note *note,
		    const struct search_body *body, struct fault *f)
{
	struct side_db *d = &s->side;
	int64_t doc;
	int rc = search_note_drop(s, note->path, f);

	if (rc < 0)
		return rc;
	rc = SIDE_RUN(d, index_add_vault, .path = note->path, .ino = note->stamp.ino,
		      .mtime = note->stamp.mtime_ns, .size = note->stamp.size,
		      .mirrored = note->mirrored);
	doc = sqlite3_last_insert_rowid(d->db);
	if (rc == SQLITE_OK)
		rc = SIDE_RUN(d, index_add_vault_text, .doc = doc, .body = body->text,
			      .scope = note->mirrored ? "mirrored" : "own");
	for (size_t i = 0; rc == SQLITE_OK && i < body->n_tags; i++)
		rc = SIDE_RUN(d, index_add_vault_tag, .doc = doc, .tag = body->tags[i]);
	return rc == SQLITE_OK ? 0 : search_failed(s, rc, "write", f);
}
