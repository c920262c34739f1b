/*
 * printed - what a command printed, kept as text.
 *
 * Bytes become UTF-8 as they come in: NUL and invalid UTF-8 turn into U+FFFD.
 * At most PRINTED_MAX bytes are kept, whole characters only; where it was cut, a
 * marker stands.  A long one lies in an unlinked file, so that many finished
 * commands cost no memory.
 */
#ifndef GUEST_PRINTED_H
#define GUEST_PRINTED_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/arena.h"

enum { PRINTED_MAX = 2 << 20 };

struct printed {
	char *data;
	size_t len, room; /* len: bytes kept, wherever they are */
	int fd; /* of the file, or 0 while in memory */
	const char *folder; /* for the file; borrowed */
	unsigned char part[4]; /* a character whose end has not come yet */
	size_t n_part;
	bool cut;
};

void printed_init(struct printed *o, const char *folder);
void printed_add(struct printed *o, const char *data, size_t len);
void printed_end(struct printed *o); /* nothing more will come */

/* The kept bytes from `offset` on, at most `len`, as a text in the arena; NULL
 * when the file cannot be read.  *got says how many. */
const char *printed_read(const struct printed *o, size_t offset, size_t len,
			 struct arena *a, size_t *got);

void printed_release(struct printed *o);

#endif
