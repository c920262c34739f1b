/*
 * frame - the envelope of the guest wire: a length, then JSON.
 *
 * A frame is a number in 4 bytes, big-endian, and that many bytes of JSON after it. The number
 * is at most FRAME_MAX, which is checked on write and on read. The reader is given the received
 * bytes in pieces of any size. The reader allocates memory only for received bytes, so a false
 * length costs nothing. After an invalid length the rest of the stream cannot be understood:
 * the reader stays broken. This file uses no sockets.
 */
#ifndef CORE_WIRE_FRAME_H
#define CORE_WIRE_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/fault.h"
#include "core/op/op.h"

enum { FRAME_MAX = 4 << 20, FRAME_HEAD = 4 };

/* A reader of one stream; begins zeroed. */
struct frame_reader {
	unsigned char head[FRAME_HEAD];
	size_t n_head; /* bytes of the head received so far */
	char *body;
	size_t size; /* bytes of the body, known once the head is whole */
	size_t len, room;
	bool whole; /* `body` is a frame that the caller has got */
	bool broken;
};

/* Takes bytes of `data` and sets `*used` to their number. Returns 1 if a frame is whole: its
 * r->size bytes are at r->body until the next call. Returns 0 if all bytes are taken and more
 * are needed. Returns a negative number if the stream is broken. */
int frame_read(struct frame_reader *r, const char *data, size_t len, size_t *used,
	       struct fault *f);

void frame_release(struct frame_reader *r); /* makes the reader new again */

/* Returns the body of a whole frame; the caller frees the body. */
char *frame_take(struct frame_reader *r);

/* Makes room for a head in `out`; the caller then appends the JSON. Returns the offset of the
 * frame in `out`, for frame_close(). */
size_t frame_open(struct text *out);

/* Writes the head of the frame begun at `start`. If the frame is too large, removes it from
 * `out` again and fails. */
int frame_close(struct text *out, size_t start, struct fault *f);

#endif
