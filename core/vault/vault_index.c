#include "core/vault/vault_index.h"

#include <stdlib.h>
#include <string.h>

#include "core/vault/vault_front.h"
#include "core/vault/vault_inside.h"
#include "core/vault/vault_text.h"

enum { SLICE = 100 }; /* notes in one transaction of the index */

struct indexing {
	struct call *call;
	struct search *search;
	enum search_vault which;
	struct arena arena; /* memory of one look at the vault */
	struct search_notes known; /* notes in the index, sorted by path */
	struct search_notes changed;
	int64_t now, end_ms;
	bool passes; /* this look leaves out folders that the mirror fills */
	bool closed; /* a folder that the caller may see cannot be entered */
};

/* --- what changed ------------------------------------------------------------------ */

static int vault_index_by_path(const void *a, const void *b)
{
	return strcmp(((const struct search_note *)a)->path,
		      ((const struct search_note *)b)->path);
}

static int vault_index_compare(void *with, const struct note_entry *e, struct fault *f)
{
	struct indexing *x = with;
	struct search_note want = { .path = e->path }, *found;

	(void)f;
	x->closed |= e->closed && vault_sees(x->call, e);
	if (e->folder)
		return x->passes && vault_is_shown_folder(e->path) ? NOTES_PASS
								   : NOTES_ENTER;
	if (!vault_is_note(x->call, e->path))
		return NOTES_PASS;
	found = x->known.n ? bsearch(&want, x->known.v, x->known.n, sizeof(want),
				     vault_index_by_path)
			   : NULL;
	if (found)
		found->seen = true;
	if (found && memcmp(&found->stamp, &e->stamp, sizeof(e->stamp)) == 0)
		return NOTES_PASS;
	want = (struct search_note){ .path = arena_strdup(&x->arena, e->path),
				     .mirrored = vault_is_mirrored(e->path) };
	arena_add(&x->arena, x->changed.v, x->changed.n, want);
	return NOTES_PASS;
}

/* Lists the notes that changed. Returns the number of entries of the index that must change, or
 * a negative fault code. */
static int64_t vault_index_look(struct indexing *x)
{
	struct call *call = x->call;
	int64_t gone = 0;
	int rc;

	arena_release(&x->arena);
	x->changed = (struct search_notes){ 0 };
	rc = search_notes_all(x->search, x->which, &x->arena, &x->known, &call->fault);
	if (rc >= 0)
		rc = notes_of(call)->walk(notes_of(call)->self, "",
					  x->which == SEARCH_OWN ? vault_is_mirrored
								 : NULL,
					  vault_index_compare, x, &call->fault);
	for (size_t i = 0; i < x->known.n; i++) {
		if (x->passes && vault_is_shown_folder(x->known.v[i].path))
			x->known.v[i].seen = true;
		gone += !x->known.v[i].seen;
	}
	return rc < 0 ? rc : gone + (int64_t)x->changed.n;
}

/* --- indexing ------------------------------------------------------------------------ */

static bool vault_index_is_late(const struct indexing *x)
{
	return notes_of(x->call)->clock_ms() >= x->end_ms;
}

size_t vault_tags_of(struct call *call, const char *path, const struct text *text,
		     const char ***tags)
{
	json_t *front = NULL;
	size_t n = 0;

	*tags = NULL;
	if (vault_has_front(path) && text->len &&
	    front_read(call, text->data, text->len, &front) == 0)
		n = front_tags(front, &call->arena, tags);
	call->fault = (struct fault){ 0 };
	json_decref(front);
	return n;
}

/* Indexes a note. A note that was removed meanwhile, or that cannot be read, is taken out of
 * the index. */
static int vault_index_put(struct indexing *x, struct search_note *note)
{
	struct call *call = x->call;
	struct arena_mark mark = arena_mark(&call->arena);
	struct search_body body = { 0 };
	struct text text = { 0 };
	const char **tags;
	int rc = vault_old(call, note->path, &text, &note->stamp);

	call->fault = (struct fault){ 0 };
	if (rc <= 0) {
		rc = search_note_drop(x->search, note->path, &call->fault);
	} else {
		body.n_tags = vault_tags_of(call, note->path, &text, &tags);
		body.tags = tags;
		body.text = vault_note_text(&call->arena, text.data ? text.data : "",
					    text.len);
		rc = search_note_put(x->search, note, &body, &call->fault);
	}
	text_release(&text);
	arena_reset(&call->arena, mark);
	return rc;
}

/* Indexes the changed notes. Returns 1 if all changed notes were indexed. Returns 0 if the time
 * has run out, or if another process indexes the vault. */
static int feed(struct indexing *x)
{
	struct fault *f = &x->call->fault;
	size_t at = 0;
	int rc = search_notes_begin(x->search, f);

	if (rc <= 0)
		return rc;
	for (size_t i = 0; rc >= 0 && i < x->known.n; i++)
		if (!x->known.v[i].seen)
			rc = search_note_drop(x->search, x->known.v[i].path, f);
	while (rc >= 0 && at < x->changed.n && !(at && vault_index_is_late(x))) {
		rc = vault_index_put(x, &x->changed.v[at++]);
		if (rc < 0 || at % SLICE)
			continue;
		if ((rc = search_notes_end(x->search, f)) < 0 ||
		    (rc = search_notes_begin(x->search, f)) <= 0)
			return rc;
	}
	rc = search_notes_end(x->search, f);
	return rc < 0 ? rc : at == x->changed.n;
}

int vault_index(struct call *call, struct search *s, enum search_vault which, int64_t ms,
		bool *whole)
{
	struct indexing x = { .call = call, .search = s, .which = which };
	int64_t changes;
	int rc = 0;

	*whole = false;
	x.now = notes_of(call)->clock_ms();
	x.end_ms = x.now + ms;
	if (which == SEARCH_OWN && search_notes_rest(s, x.now))
		return 0;
	x.passes = which == SEARCH_OWN && search_shown_rest(s, x.now);
	/* If another process indexes the vault, the loop looks again until no change is left or
	 * the time has run out. */
	do {
		changes = vault_index_look(&x);
		if (changes > 0)
			rc = feed(&x);
		*whole = changes == 0 || rc > 0;
	} while (changes > 0 && rc == 0 && !vault_index_is_late(&x));
	if (*whole)
		search_notes_looked(s, x.now, notes_of(call)->clock_ms());
	if (*whole && !x.passes)
		search_shown_looked(s, x.now, notes_of(call)->clock_ms());
	*whole &= !x.closed;
	arena_release(&x.arena);
	return changes < 0 ? (int)changes : rc < 0 ? rc : 0;
}

bool vault_finds(struct call *call, const char *folder, const char *path)
{
	const struct note_entry e = { .path = path };
	size_t n = strlen(folder);

	if (n && (strncmp(path, folder, n) != 0 || path[n] != '/'))
		return false;
	return vault_sees(call, &e);
}
