/*
 * outbuf - the output of a command, kept as text.
 *
 * Bytes become UTF-8 as they come in: NUL and invalid UTF-8 turn into U+FFFD.
 * At most OUTBUF_MAX bytes are kept, whole characters only.  A marker shows the
 * cut, and further bytes are only counted.  A long output lies in an unlinked file, so
 * that many finished commands cost no memory.
 */
#ifndef GUEST_OUTBUF_H
#define GUEST_OUTBUF_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/arena.h"

enum { OUTBUF_MAX = 2 << 20 };

struct outbuf {
	char *data;
	size_t len, room; /* len: bytes kept, wherever they are */
	size_t all; /* bytes of the whole text, kept or not */
	int fd; /* of the file, or 0 while in memory */
	const char *folder; /* for the file; borrowed */
	unsigned char part[4]; /* a character whose end has not come yet */
	size_t n_part;
	size_t most; /* bytes kept in all; 0: OUTBUF_MAX */
	bool cut;
	bool replaced; /* U+FFFD stands in it for bytes that came */
};

/* Makes an empty buffer; `folder` is borrowed until its release. */
void outbuf_init(struct outbuf *o, const char *folder);
void outbuf_add(struct outbuf *o, const char *data, size_t len);
/* The bytes before `offset` will not be read again: a file gives up their place. */
void outbuf_seen(struct outbuf *o, size_t offset);
/* Called when nothing more will come: half a character at the end becomes U+FFFD. */
void outbuf_end(struct outbuf *o);

/* The kept bytes from `offset` on, at most `len`, as a text in the arena; NULL
 * when the file cannot be read.  *got says how many. */
const char *outbuf_read(const struct outbuf *o, size_t offset, size_t len,
			struct arena *a, size_t *got);

void outbuf_release(struct outbuf *o);

#endif
