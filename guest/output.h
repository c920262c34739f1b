/*
 * output - what a command printed, kept as text.
 *
 * Bytes become UTF-8 as they come in: NUL and invalid UTF-8 turn into U+FFFD.
 * At most OUTPUT_MAX bytes are kept, whole characters only; where it was cut, a
 * marker stands.  A long one lies in an unlinked file, so that many finished
 * commands cost no memory.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/arena.h"

enum { OUTPUT_MAX = 2 << 20 };

struct output {
	char *data;
	size_t len, room; /* len: bytes kept, wherever they are */
	int fd;           /* of the file, or 0 while in memory */
	const char *folder; /* for the file; borrowed */
	unsigned char part[4]; /* a character whose end has not come yet */
	size_t n_part;
	bool cut;
};

void output_init(struct output *o, const char *folder);
void output_add(struct output *o, const char *data, size_t len);
void output_end(struct output *o); /* nothing more will come */

/* The kept bytes from `offset` on, at most `len`, as a text in the arena; NULL
 * when the file cannot be read.  *got says how many. */
const char *output_read(const struct output *o, size_t offset, size_t len,
			struct arena *a, size_t *got);

void output_release(struct output *o);

#endif
