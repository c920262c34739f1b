/*
 * outbuf - the output of a command, kept as text.
 *
 * Bytes are turned into UTF-8 on arrival. NUL and invalid UTF-8 become U+FFFD. At most
 * OUTBUF_MAX bytes are kept, whole characters only. A marker shows where the text was cut, and
 * further bytes are only counted. A long output is stored in an unlinked file, so that the
 * output of many finished commands uses no memory.
 */
#ifndef GUEST_OUTBUF_H
#define GUEST_OUTBUF_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/arena.h"

enum { OUTBUF_MAX = 2 << 20 };

struct outbuf {
	char *data;
	size_t len, room; /* len: bytes kept, in memory or in the file */
	size_t all; /* bytes of the whole text, also of the dropped part */
	int fd; /* descriptor of the file; 0: bytes are in memory */
	const char *folder; /* folder for the file; borrowed */
	unsigned char part[4]; /* start of a character not yet complete */
	size_t n_part;
	size_t most; /* limit of kept bytes; 0: OUTBUF_MAX */
	bool cut;
	bool replaced; /* the text has U+FFFD in place of bytes */
};

/* Returns at most `len` kept bytes from `offset` on, as a text in the arena, or NULL if the
 * file cannot be read. *got is set to the number of bytes. */
const char *outbuf_read(const struct outbuf *o, size_t offset, size_t len,
			struct arena *a, size_t *got);

/*
 * output_parts - the parts of a command's two streams that fit a frame.
 */

struct output_parts {
	const char *text[2]; /* stdout and stderr, each from its offset on */
	size_t len[2];
	size_t offset[2], size[2]; /* size: kept bytes of the stream */
	size_t written[2]; /* bytes of the whole stream; 0: all are kept */
	bool replaced; /* a stream has U+FFFD in place of bytes */
	bool more; /* a stream has bytes that did not fit */
};

/* Fills `p` with a command's texts from p->offset on. Returns false if the texts cannot be read
 * back. */
bool output_parts_read(struct output_parts *p, const struct outbuf *out,
		       const struct outbuf *err, struct arena *a);

/* Fills `p` with two borrowed texts in memory. */
void output_parts_take(struct output_parts *p, const char *out, size_t out_size,
		       const char *err, size_t err_size);

/* Returns the stream (0 or 1) whose offset is inside a character or after the end; -1 if both
 * offsets are good. */
int output_parts_bad_offset(const struct output_parts *p);

/* Cuts both streams to `room` bytes of JSON, and lowers `room` by the bytes used. A stream gets
 * half of the room, plus the room that the other stream leaves. If `marked` is true, a cut text
 * ends with a marker, for a peer that cannot ask for the rest of the text. */
void output_parts_fit(struct output_parts *p, size_t *room, bool marked, struct arena *a);

#endif
