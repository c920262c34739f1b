/*
 * jsonc - the text of a file while it is edited in memory, and the values of JSON in that text,
 * with comments and trailing commas.
 *
 * An edit replaces spans of bytes and prints nothing anew, so that every byte that is not
 * cadre's stays: comments, indentation, line ends, a byte order mark, a missing last line end.
 *
 * A reader gives a tree whose values know their bytes; an edit is a splice of the text, after
 * which it is read again.  Values that setup puts into a file are recognized later by where
 * they stand, so that what it made is told from what was there:
 *
 *	an object or array that was there, but empty, gets its first member right behind the
 *	bracket; in one that setup made, a blank or a line end stands between them;
 *	a file that was there, but empty, gets no last line end; a file that setup made has one;
 *	behind a trailing comma stands one of ours, elsewhere none.
 *
 * So removing undoes putting, byte for byte, without a note of what was done.
 */
#ifndef TOOLS_CADRE_SETUP_JSONC_H
#define TOOLS_CADRE_SETUP_JSONC_H

#include <jansson.h>

#include "core/op/op.h"

struct setup_draft {
	const char *name; /* in faults */
	struct text text; /* ends with a NUL when it holds anything */
	bool there; /* as a file; false: there is none */
};

/* Takes the bytes from `from` up to `to` out and puts others in. */
void draft_splice(struct setup_draft *d, size_t from, size_t to, const char *data,
		  size_t len);
/* Where the text begins: behind a byte order mark. */
size_t draft_start(const struct setup_draft *d);
/* Replaces the string in quotes, or in three quotes of TOML, that begins at `at`. */
void draft_quote(struct setup_draft *d, size_t at, const char *text);

/* Appends lines (with `\n` between them and none at the end) below an empty line.  A text
 * that did not end with a line end does not afterwards, either, by which draft_cut() knows
 * what to take away; a file that was not there gets one. */
void draft_append(struct setup_draft *d, const char *lines);
/* Takes lines away that draft_append() has put there: from the first byte of the first up to
 * the last byte of the last before its line end. */
void draft_cut(struct setup_draft *d, size_t from, size_t to);

struct jsonc {
	char kind; /* its first byte; '0' of a number */
	size_t from, to; /* its bytes */
	size_t key_from, key_to; /* bytes of its key in quotes; the same: no key */
	size_t comma; /* the comma behind it; 0: none */
	struct jsonc *up, *first, *last, *next, *prev;
};

/* Reads a text; `*root` is NULL when it is blank.  A fault names file, line and column. */
int jsonc_read(struct arena *a, const struct setup_draft *d, struct jsonc **root,
	       struct fault *f);
/* Refuses what a value says. */
int jsonc_refuse(const struct setup_draft *d, size_t at, struct fault *f, const char *fmt,
		 ...) __attribute__((format(printf, 4, 5)));
/* The member of an object; of several with that key the last, as most readers take it.  NULL: the
 * object has none, or is none. */
struct jsonc *jsonc_member(const struct setup_draft *d, const struct jsonc *object,
			   const char *key);
/* The text of a string, or NULL of another value. */
const char *jsonc_text(struct arena *a, const struct setup_draft *d,
		       const struct jsonc *v);
/* A value without its bytes. */
json_t *jsonc_value(struct arena *a, const struct setup_draft *d, const struct jsonc *v);
/* The first byte of a member: of its key, or of an item. */
size_t jsonc_start(const struct jsonc *v);

/* The place for a value: the keys that lead there from the root, and whether the last key is an
 * array, which gets the value as its last item. */
struct jsonc_place {
	const char *keys[3]; /* a NULL ends them */
	bool push;
};

/* A member of the root that a client wants beside the first key of a place. */
struct jsonc_beside {
	const char *key, *value; /* as JSON, without blanks */
	bool anew; /* only in a text that is blank */
};

/* Puts a value where none is, with the objects around it that are missing; `beside` (may be
 * NULL) comes with the first of them.  The value is JSON without blanks, escapes and empty
 * objects, in which "@" stands for `word`. */
int jsonc_put(struct setup_draft *d, const struct jsonc_place *p, const char *value,
	      const char *word, const struct jsonc_beside *beside, struct fault *f);
/* Takes a value away, and what setup made for it.  The tree does not hold afterwards. */
void jsonc_cut(struct setup_draft *d, struct jsonc *v, const struct jsonc_beside *beside);

#endif
