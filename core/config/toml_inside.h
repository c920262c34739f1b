/*
 * toml_inside - declarations that the parts of the TOML reader share.
 */
#ifndef CORE_CONFIG_TOML_INSIDE_H
#define CORE_CONFIG_TOML_INSIDE_H

#include "core/config/toml.h"

struct toml_reader {
	const char *file;
	const char *s; /* the cursor in a copy of the text; the copy has only one NUL, at
			  its end */
	const char *line_at; /* where the cursor's line begins */
	int line;
	int depth; /* depth of the table or array that is being filled */
	struct arena *arena;
	struct fault *fault;
};

/* A part of a dotted key. */
struct toml_key {
	struct toml_text name;
	struct toml_place at;
	const struct toml_key *next;
};

struct toml_place toml_here(const struct toml_reader *r);
/* Refuses the document, and names the cursor's place. */
#define toml_wrong(r, ...) toml_refuse((r)->file, toml_here(r), (r)->fault, __VA_ARGS__)
#define toml_wrong_at(r, place, ...) \
	toml_refuse((r)->file, place, (r)->fault, __VA_ARGS__)

/* --- toml.c: blanks and line ends ------------------------------------------------ */

void toml_skip_blanks(struct toml_reader *r);
bool toml_skip_newline(struct toml_reader *r); /* skips one LF or CR LF, if any */
void toml_skip_lines(struct toml_reader *r); /* skips blanks, newlines and comments */
/* Reads `KEY = VALUE` into a table; the cursor is at the key. */
int toml_read_pair(struct toml_reader *r, struct toml_table *t);

/* --- values: the cursor moves from the first byte to behind the last --------------- */

int toml_read_value(struct toml_reader *r, struct toml_value *v);
int toml_read_text(struct toml_reader *r, bool lines, struct toml_text *text);

/* Whether the document's bytes are UTF-8 without forbidden control characters; leaves the
 * cursor at the first byte that is wrong. */
int toml_check_bytes(struct toml_reader *r, size_t len);

/* --- tables -------------------------------------------------------------------------- */

struct toml_table *toml_table_new(struct arena *a, enum toml_made made, int depth);
struct toml_value *toml_push(struct arena *a, struct toml_array *array);

#endif
