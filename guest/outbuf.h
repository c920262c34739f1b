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

/* The kept bytes from `offset` on, at most `len`, as a text in the arena; NULL
 * when the file cannot be read.  *got says how many. */
const char *outbuf_read(const struct outbuf *o, size_t offset, size_t len,
			struct arena *a, size_t *got);

/*
 * output_parts - a command's two streams, of which a frame takes what fits.
 */

struct output_parts {
	const char *text[2]; /* stdout and stderr from the offsets on */
	size_t len[2];
	size_t offset[2], size[2]; /* size: of the stream, as far as it is kept */
	size_t written[2]; /* bytes of the whole stream, where some are not kept; else 0 */
	bool replaced; /* U+FFFD stands for bytes of a stream */
	bool more; /* something is behind what fits */
};

/* Fills `p` with a command's texts, from the offsets in it on; false when they cannot be
 * read back. */
bool output_parts_read(struct output_parts *p, const struct outbuf *out,
		       const struct outbuf *err, struct arena *a);

/* Fills `p` with two texts in memory, borrowed. */
void output_parts_take(struct output_parts *p, const char *out, size_t out_size,
		       const char *err, size_t err_size);

/* The stream (0 or 1) whose offset is inside a character or behind the end; -1: none. */
int output_parts_bad_offset(const struct output_parts *p);

/* Cuts both streams to `room` bytes of JSON, and lowers `room` by the bytes used.  A stream
 * gets half of the room, plus the room that the other stream leaves.  `marked`: for a peer that
 * cannot ask for the rest; a cut text ends with a marker. */
void output_parts_fit(struct output_parts *p, size_t *room, bool marked, struct arena *a);

#endif
