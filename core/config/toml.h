/*
 * toml - TOML 1.0 text as a tree.
 *
 * Reads all of https://toml.io/en/v1.0.0. The reader takes bytes and makes a tree in the
 * caller's arena, without I/O. Every key and value has its place, so that a user of the tree
 * can name file, line and column of a mistake.
 *
 * toml.c reads lines, headers and keys, and finds their places in a text. toml_value.c reads
 * arrays, inline tables, words, numbers and times.
 */
#ifndef CORE_CONFIG_TOML_H
#define CORE_CONFIG_TOML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/fault.h"
#include "core/op/op.h"

enum toml_kind {
	TOML_TEXT,
	TOML_INT,
	TOML_REAL,
	TOML_BOOL,
	TOML_TIME, /* a date and time with an offset */
	TOML_LOCAL_TIME, /* a date and time without an offset */
	TOML_DATE,
	TOML_CLOCK, /* a time of day */
	TOML_ARRAY,
	TOML_TABLE,
};

/* A place in a file. Line and column numbers begin at 1. Columns are counted in bytes. */
struct toml_place {
	int line, column;
};

/* UTF-8; a NUL follows the last byte. Escapes may put further NULs into the text. */
struct toml_text {
	const char *data;
	size_t len;
};

struct toml_value {
	enum toml_kind kind;
	struct toml_place at;
	union {
		struct toml_text text;
		int64_t integer;
		double real; /* may be infinite, or not a number */
		bool boolean;
		struct time_parts time;
		struct toml_array *array;
		struct toml_table *table;
	};
};

struct toml_array {
	struct toml_value *items;
	size_t n;
	bool of_tables; /* made by [[headers]] */
};

struct toml_entry {
	struct toml_text key;
	struct toml_place at;
	struct toml_value value;
	struct toml_entry *next; /* next entry in the order of the file */
	struct toml_entry *chain; /* next entry in the same bucket */
};

/* How a table was made. This decides which keys may still be added to the table. */
enum toml_made {
	TOML_MADE_ABOVE, /* made by the header of a table below this table */
	TOML_MADE_HEADER,
	TOML_MADE_DOTTED, /* made by a dotted key */
	TOML_MADE_INLINE,
};

struct toml_table {
	struct toml_entry *first, *last;
	size_t n;
	struct toml_entry **buckets; /* NULL while the table is small */
	size_t n_buckets;
	enum toml_made made;
	int depth; /* number of tables and arrays around this table */
};

/* How deep tables and arrays may be nested. A deeper document is refused, so that recursive
 * functions cannot overflow the stack. */
enum { TOML_DEPTH = 100 };

/* Reads a document of `len` bytes; texts are copied. `file` is the document's name in faults.
 * Each fault is FAULT_INVALID, and its text begins with `file:line:column: `. */
int toml_read(struct arena *a, const char *file, const char *data, size_t len,
	      struct toml_table **root, struct fault *f);

/* The entry with this key in a table; NULL if the table has no such key. */
struct toml_entry *toml_find(const struct toml_table *t, const char *key, size_t len);

/* The value as JSON, for op_decode() to check. No field of an operation can hold a time, an
 * infinite number or a NaN. A time, an infinite number or a NaN becomes an object, which
 * op_decode() refuses. */
json_t *toml_json(const struct toml_value *v);

/* A header `[TABLE]` or a pair `KEY = VALUE` of a document. */
struct toml_line {
	size_t from, to; /* offsets of the line's first byte and of its end: a comment is
		       included, the newline is not */
	bool header;
	const struct toml_text *path; /* the keys from the root to this line */
	size_t n;
};

/* Calls `each` for every header and pair of a document that toml_read() has accepted. */
int toml_lines(struct arena *a, const char *data, size_t len,
	       void (*each)(void *arg, const struct toml_line *line), void *arg,
	       struct fault *f);

/* Fills a fault about a place of a file. Users of the tree call this function, too. */
int toml_refuse(const char *file, struct toml_place at, struct fault *f, const char *fmt,
		...) __attribute__((format(printf, 4, 5)));

#endif
