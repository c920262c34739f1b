/*
 * search_vault - the vault's notes in the search index: paths, stamps at the time of reading,
 * words and tags.
 *
 * The files are the truth, and people edit them.  So each search first compares the files with
 * the index.  A note that changed gets a new document.  The words of its old document stay in
 * the index and lead nowhere.  When too many old documents are left, everything is indexed
 * anew.
 */
#ifndef STORAGE_SEARCH_SEARCH_VAULT_H
#define STORAGE_SEARCH_SEARCH_VAULT_H

#include "core/vault/notes.h"
#include "storage/search/search.h"

struct search_note {
	const char *path;
	struct note_stamp stamp;
	bool mirrored; /* the file shows rows of the state; for search_note_put() */
	bool seen; /* free for the caller's use */
};

struct search_notes {
	struct search_note *v;
	size_t n;
};

struct search_tag {
	const char *tag, *path;
};

/* Which notes a call concerns.  The mirror may keep a file for each task.  Callers that find
 * these tasks by themselves ask only for the other notes. */
enum search_vault { SEARCH_OWN, SEARCH_ALL };

/* The indexed notes, by path. */
int search_notes_all(struct search *s, enum search_vault which, struct arena *a,
		     struct search_notes *out, struct fault *f);

/* Whether it is too soon for another look at the files.  Another look is too soon under two
 * conditions.  The last look began less than a second ago, and it took more than a twentieth of
 * the time since its beginning.  `now` is in monotonic ms. */
bool search_notes_rest(const struct search *s, int64_t now);
void search_notes_looked(struct search *s, int64_t from, int64_t to);

/* search_notes_rest() for the folders that the mirror fills with a file for each task.  There
 * is no rest if the files are few, and a rest of half a minute if there are thousands of files. */
bool search_shown_rest(const struct search *s, int64_t now);
void search_shown_looked(struct search *s, int64_t from, int64_t to);

/* Begins a transaction for changes of the index.  Returns 1, or 0 if another process indexes. */
int search_notes_begin(struct search *s, struct fault *f);
int search_notes_end(struct search *s, struct fault *f); /* 0: the changes are kept */

struct search_body {
	const char *text;
	const char *const *tags;
	size_t n_tags;
};

/* Puts a note into the index, in place of the note with the same path.  Returns 0 or a fault
 * code. */
int search_note_put(struct search *s, const struct search_note *note,
		    const struct search_body *body, struct fault *f);
/* Takes the note at the path out of the index.  Returns 0 or a fault code. */
int search_note_drop(struct search *s, const char *path, struct fault *f);

/* The paths of the notes that match `q` and have `tag`, last written first.  If `q` is NULL,
 * all notes match, and so do files of every kind.  If `tag` is NULL, any tag or no tag is
 * accepted. */
int search_notes_find(struct search *s, enum search_vault which,
		      const struct search_query *q, const char *tag, struct arena *a,
		      struct search_notes *out, struct fault *f);

/* All tags of all notes, sorted by tag. */
int search_notes_tags(struct search *s, struct arena *a, struct search_tag **out,
		      size_t *n, struct fault *f);

/* Calls `each` with the offset of each word or phrase of the query in `text`, in
 * order. */
void search_places(struct search *s, const struct search_query *q, const char *text,
		   size_t len, void (*each)(void *with, size_t at), void *with);

#endif
