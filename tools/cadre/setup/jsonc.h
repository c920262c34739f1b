/*
 * jsonc - edits the text of a file in memory, and reads JSON values with comments and trailing
 * commas.
 *
 * An edit replaces spans of bytes and does not print the whole file again. So all text of other
 * authors stays, with comments, indentation, line ends and a byte order mark. A missing last
 * line end stays missing.
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
 * - If the last member had a trailing comma, setup's member also has a trailing comma.
 * Otherwise setup's member has no trailing comma.
 *
 * So a removal restores the file byte for byte, without any notes of the earlier edit.
 */
#ifndef TOOLS_CADRE_SETUP_JSONC_H
#define TOOLS_CADRE_SETUP_JSONC_H

#include <jansson.h>

#include "core/op/op.h"

struct setup_draft {
	const char *name; /* file's name in faults */
	struct text text; /* a NUL follows a text that is not empty */
	bool there; /* false: there is no such file */
};

/* Replaces the bytes from `from` up to `to` by the `len` bytes at `data`. */
void draft_splice(struct setup_draft *d, size_t from, size_t to, const char *data,
		  size_t len);
/* The offset at which the text begins: behind a byte order mark, if there is one. */
size_t draft_start(const struct setup_draft *d);
/* Replaces the quoted string that begins at `at` by `text`. In TOML, a string may have three
 * quotes at each end. */
void draft_quote(struct setup_draft *d, size_t at, const char *text);

/* Appends lines below an empty line. `lines` has `\n` between the lines, but no `\n` at the
 * end. If the text had no last line end, it gets no last line end. The last line end tells
 * draft_cut() how much to remove. A new file gets a last line end. */
void draft_append(struct setup_draft *d, const char *lines);
/* Removes lines that draft_append() has put. `from` is the first byte of the first line. `to`
 * is the line end of the last line. */
void draft_cut(struct setup_draft *d, size_t from, size_t to);

struct jsonc {
	char kind; /* the value's first byte; '0' for a number */
	size_t from, to; /* offsets of the value's bytes */
	size_t key_from, key_to; /* offsets of the quoted key; equal: no key */
	size_t comma; /* offset of the comma behind the value; 0: no comma */
	struct jsonc *up, *first, *last, *next, *prev;
};

/* Reads a text; `*root` is NULL if the text is blank. A fault names file, line and column. */
int jsonc_read(struct arena *a, const struct setup_draft *d, struct jsonc **root,
	       struct fault *f);
/* Fills a fault about the text at offset `at`, with file, line and column. */
int jsonc_refuse(const struct setup_draft *d, size_t at, struct fault *f, const char *fmt,
		 ...) __attribute__((format(printf, 4, 5)));
/* The last member of an object with this key, since most readers of JSON use the last of
 * several members with the same key. NULL: the object has no member with this key, or `object`
 * is no object. */
struct jsonc *jsonc_member(const struct setup_draft *d, const struct jsonc *object,
			   const char *key);
/* The text of a string; NULL: the value is no string. */
const char *jsonc_text(struct arena *a, const struct setup_draft *d,
		       const struct jsonc *v);
/* The value as a tree of jansson, without offsets. */
json_t *jsonc_value(struct arena *a, const struct setup_draft *d, const struct jsonc *v);
/* The offset of a member's first byte. This is the first byte of the key, or of the value if
 * the member is an item without a key. */
size_t jsonc_start(const struct jsonc *v);

/* The place of a value, as the keys that lead from the root to the place. With `push`, the last
 * key's value is an array, and the new value becomes the array's last item. */
struct jsonc_place {
	const char *keys[3]; /* a NULL ends the list */
	bool push;
};

/* A member that a client needs in the root, beside the first key of a place. */
struct jsonc_beside {
	const char *key, *value; /* the value is JSON without blanks */
	bool anew; /* put the member only into a blank text */
};

/* Puts a value at a place that has no value. Also puts the missing objects around the value. If
 * the first of these objects is missing, `beside` (may be NULL) is put too. The value is JSON
 * without blanks, escapes and empty objects; "@" stands for `word`. */
int jsonc_put(struct setup_draft *d, const struct jsonc_place *p, const char *value,
	      const char *word, const struct jsonc_beside *beside, struct fault *f);
/* Removes a value, and everything that setup made for the value. The tree is invalid
 * afterwards. */
void jsonc_cut(struct setup_draft *d, struct jsonc *v, const struct jsonc_beside *beside);

#endif
