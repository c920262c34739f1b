/*
 * jsonc - edits the text of a file in memory, and reads JSON values with comments and trailing
 * commas.
 *
 * An edit replaces spans of bytes and does not print the file again.  So every byte that is
 * not cadre's stays: comments, indentation, line ends, a byte order mark, a missing last line end.
 *
 * The reader gives a tree whose values have the offsets of their bytes.  An edit is a splice of
 * the text, and afterwards the text is read again.  Later, the bytes around a value tell whether
 * setup made the object around the value, or found the object in the file:
 *
 * - In an empty object or array of the file, the first member is put directly behind the
 *   bracket. If setup made the object or array, a blank or a line end is between the bracket
 *   and the first member.
 * - An empty file that existed gets no last line end. A file that setup made ends with a line
 * end.
 * - If the last member had a trailing comma, setup's member also has a trailing comma, else it
 * has no trailing comma.
 *
 * So removing undoes putting, byte for byte, without any notes.
 */
#ifndef TOOLS_CADRE_SETUP_JSONC_H
#define TOOLS_CADRE_SETUP_JSONC_H

#include <jansson.h>

#include "core/op/op.h"

struct setup_draft {
	const char *name; /* name of the file in faults */
	struct text text; /* a NUL follows a text that is not empty */
	bool there; /* false: there is no such file */
};

/* Replaces the bytes from `from` up to `to` by the `len` bytes at `data`. */
void draft_splice(struct setup_draft *d, size_t from, size_t to, const char *data,
		  size_t len);
/* The offset at which the text begins: behind a byte order mark, if there is one. */
size_t draft_start(const struct setup_draft *d);
/* Replaces the quoted string that begins at `at` by `text`; TOML also has strings in three
 * quotes. */
void draft_quote(struct setup_draft *d, size_t at, const char *text);

/* Appends lines below an empty line; `lines` has `\n` between the lines, and none at the end.
 * If the text had no last line end, it has none afterwards, and thereby draft_cut() knows how
 * much to remove. A new file gets a last line end. */
void draft_append(struct setup_draft *d, const char *lines);
/* Removes lines that draft_append() has put: from the first byte of the first line up to the
 * last byte of the last line, before its line end. */
void draft_cut(struct setup_draft *d, size_t from, size_t to);

struct jsonc {
	char kind; /* the value's first byte; '0' for a number */
	size_t from, to; /* offsets of the value's bytes */
	size_t key_from, key_to; /* offsets of the quoted key; equal: there is no key */
	size_t comma; /* offset of the comma behind the value; 0: no comma */
	struct jsonc *up, *first, *last, *next, *prev;
};

/* Reads a text; `*root` is NULL if the text is blank. A fault names file, line and column. */
int jsonc_read(struct arena *a, const struct setup_draft *d, struct jsonc **root,
	       struct fault *f);
/* Fills a fault about the text at offset `at`, with file, line and column. */
int jsonc_refuse(const struct setup_draft *d, size_t at, struct fault *f, const char *fmt,
		 ...) __attribute__((format(printf, 4, 5)));
/* The member of an object with this key; if there are several, the last one, as most readers
 * do. NULL: there is no such member, or `object` is no object. */
struct jsonc *jsonc_member(const struct setup_draft *d, const struct jsonc *object,
			   const char *key);
/* The text of a string; NULL: the value is no string. */
const char *jsonc_text(struct arena *a, const struct setup_draft *d,
		       const struct jsonc *v);
/* The value as a tree of jansson, without offsets. */
json_t *jsonc_value(struct arena *a, const struct setup_draft *d, const struct jsonc *v);
/* The offset of a member's first byte, which is the first byte of the key, or of the value of
 * an item without key. */
size_t jsonc_start(const struct jsonc *v);

/* The place for a value: the keys that lead from the root to the place. `push`: the last key's
 * value is an array, and the new value becomes its last item. */
struct jsonc_place {
	const char *keys[3]; /* a NULL ends the list */
	bool push;
};

/* A member of the root that a client needs beside the first key of a place. */
struct jsonc_beside {
	const char *key, *value; /* the value is JSON without blanks */
	bool anew; /* put only into a blank text */
};

/* Puts a value at a place that has no value, and puts the missing objects around the value. If
 * the first of these objects is missing, `beside` (may be NULL) is put too. The value is JSON
 * without blanks, escapes and empty objects; "@" stands for `word`. */
int jsonc_put(struct setup_draft *d, const struct jsonc_place *p, const char *value,
	      const char *word, const struct jsonc_beside *beside, struct fault *f);
/* Removes a value, and everything that setup made for the value. The tree is invalid
 * afterwards. */
void jsonc_cut(struct setup_draft *d, struct jsonc *v, const struct jsonc_beside *beside);

#endif
