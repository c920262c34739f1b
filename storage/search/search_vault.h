/*
 * search_vault - the vault's notes in the search index: which there are, how they
 * stood when they were read, their words and their tags.
 *
 * The files are the truth and people edit them, so whoever looks compares them
 * first.  A note that changed gets a new document; the words of its old one stay
 * in the index and lead nowhere, until there are so many that all is indexed anew.
 */
#ifndef STORAGE_SEARCH_SEARCH_VAULT_H
#define STORAGE_SEARCH_SEARCH_VAULT_H

#include "core/vault/notes.h"
#include "storage/search/search.h"

struct search_note {
	const char *path;
	struct note_stamp stamp;
	bool mirrored; /* it shows rows; for search_note_put() */
	bool seen; /* the caller's */
};

struct search_notes {
	struct search_note *v;
	size_t n;
};

struct search_tag {
	const char *tag, *path;
};

/* Files that the mirror keeps equal to rows may be as many as there are tasks: who
 * finds the rows by themselves asks for the other ones only. */
enum search_vault { SEARCH_OWN, SEARCH_ALL };

/* The notes that are indexed, by path. */
int search_notes_all(struct search *s, enum search_vault which, struct arena *a,
		     struct search_notes *out, struct fault *f);

/* Whether it is too soon for another look at the files: the last one took more than a
 * twentieth of the time since it began, which is under a second.  Monotonic ms. */
bool search_notes_rest(const struct search *s, int64_t now);
void search_notes_looked(struct search *s, int64_t from, int64_t to);

/* The same for the folders that the mirror fills, one file for each task.  Where they are
 * few the rest is none; where they are thousands, half a minute. */
bool search_shown_rest(const struct search *s, int64_t now);
void search_shown_looked(struct search *s, int64_t from, int64_t to);

/* Changes of the index stand between begin and end.  1, or 0 when another process
 * is at it. */
int search_notes_begin(struct search *s, struct fault *f);
int search_notes_end(struct search *s, struct fault *f); /* 0: they are kept */

struct search_body {
	const char *text;
	const char *const *tags;
	size_t n_tags;
};

int search_note_put(struct search *s, const struct search_note *note,
		    const struct search_body *body, struct fault *f);
int search_note_drop(struct search *s, const char *path, struct fault *f);

/* The paths of the notes that match `q` (NULL: all, and all files) and have `tag`
 * (NULL: any), those that were written last first. */
int search_notes_find(struct search *s, enum search_vault which,
		      const struct search_query *q, const char *tag, struct arena *a,
		      struct search_notes *out, struct fault *f);

/* Every tag of every note, by tag. */
int search_notes_tags(struct search *s, struct arena *a, struct search_tag **out,
		      size_t *n, struct fault *f);

/* Calls `each` with the byte where each word or phrase begins that the query looks
 * for, in order. */
void search_places(struct search *s, const struct search_query *q, const char *text,
		   size_t len, void (*each)(void *with, size_t at), void *with);

#endif
