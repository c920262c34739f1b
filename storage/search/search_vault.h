/*
 * search_vault - stores the vault's notes in the search index, with paths, words, tags, and the
 * stamps that the files had when the notes were read.
 *
 * People edit the files, so the index may be out of date. For this reason each search first
 * compares the files with the index. A changed note gets a new document in the index. The words
 * of the note's old document stay in the index, but no search returns an old document. If the
 * index contains too many old documents, the index is emptied and all notes are added again.
 */
#ifndef STORAGE_SEARCH_SEARCH_VAULT_H
#define STORAGE_SEARCH_SEARCH_VAULT_H

#include "core/vault/notes.h"
#include "storage/search/search.h"

struct search_note {
	const char *path;
	struct note_stamp stamp;
	bool mirrored; /* for search_note_put(): the file shows rows of the state */
	bool seen; /* free for the caller's use */
};

struct search_notes {
	struct search_note *v;
	size_t n;
};

struct search_tag {
	const char *tag, *path;
};

/* The notes that a call is about. With SEARCH_OWN, the call leaves out the mirror's files of
 * tasks; a caller that searches the tasks itself passes SEARCH_OWN. */
enum search_vault { SEARCH_OWN, SEARCH_ALL };

/* Lists the indexed notes, sorted by path. */
int search_notes_all(struct search *s, enum search_vault which, struct arena *a,
		     struct search_notes *out, struct fault *f);

/* Whether another comparison of the files with the index would come too soon. From the
 * beginning of a comparison, the answer is true for 20 times as long as the comparison took,
 * but at most for a second. `now` is in monotonic ms. */
bool search_notes_rest(const struct search *s, int64_t now);
void search_notes_looked(struct search *s, int64_t from, int64_t to);

/* Like search_notes_rest(), for the folders in which the mirror has a file for each task. The
 * pause between two comparisons grows with the number of files. With thousands of files the
 * pause is half a minute. */
bool search_shown_rest(const struct search *s, int64_t now);
void search_shown_looked(struct search *s, int64_t from, int64_t to);

/* Begins a transaction for changes of the index. Returns 1 if the transaction has begun, 0 if
 * another process changes the index, or a negative fault code. */
int search_notes_begin(struct search *s, struct fault *f);
int search_notes_end(struct search *s, struct fault *f); /* returns 0 after a commit */

struct search_body {
	const char *text;
	const char *const *tags;
	size_t n_tags;
};

/* Puts a note into the index, in place of the note with the same path.  Returns 0 or a fault
 * code. */
int search_note_put(struct search *s, const struct search_note *note,
		    const struct search_body *body, struct fault *f);
/* Removes the note at `path` from the index. Returns 0 or a fault code. */
int search_note_drop(struct search *s, const char *path, struct fault *f);

/* Lists the notes that match `q` and have `tag`, last written first. If `q` is NULL, all notes
 * match, and `which` is ignored. If `tag` is NULL, notes need no tag. */
int search_notes_find(struct search *s, enum search_vault which,
		      const struct search_query *q, const char *tag, struct arena *a,
		      struct search_notes *out, struct fault *f);

/* Lists all tags of all notes, sorted by tag. */
int search_notes_tags(struct search *s, struct arena *a, struct search_tag **out,
		      size_t *n, struct fault *f);

/* Calls `each`, in order, with the offset of each place in `text` at which a word or phrase of
 * the query begins. */
void search_places(struct search *s, const struct search_query *q, const char *text,
		   size_t len, void (*each)(void *with, size_t at), void *with);

#endif
