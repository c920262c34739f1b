/*
 * draft - the text of a file while it is edited in memory.
 *
 * An edit replaces spans of bytes and prints nothing anew, so that every byte that is not
 * cadre's stays: comments, indentation, line ends, a byte order mark, a missing last line end.
 */
#ifndef TOOLS_CADRE_SETUP_DRAFT_H
#define TOOLS_CADRE_SETUP_DRAFT_H

#include <stdbool.h>

#include "core/op/op.h"

struct setup_draft {
	const char *name; /* in faults */
	struct text text; /* ends with a NUL when it holds anything */
	bool there; /* as a file; false: there is none */
};

/* Takes the bytes from `from` up to `to` out and puts others in. */
void draft_splice(struct setup_draft *d, size_t from, size_t to, const char *data,
		  size_t len);
/* The line end of the file: that of its first line. */
const char *draft_eol(const struct setup_draft *d);
/* Where the text begins: behind a byte order mark. */
size_t draft_start(const struct setup_draft *d);
/* Adds the blanks that begin the line of the byte `at`, up to 80. */
void draft_indent(const struct setup_draft *d, size_t at, struct text *out);

/* Appends lines (with `\n` between them and none at the end) below an empty line.  A text
 * that did not end with a line end does not afterwards, either, by which draft_cut() knows
 * what to take away; a file that was not there gets one. */
void draft_append(struct setup_draft *d, const char *lines);
/* Takes lines away that draft_append() has put there: from the first byte of the first up to
 * the last byte of the last before its line end. */
void draft_cut(struct setup_draft *d, size_t from, size_t to);

#endif
