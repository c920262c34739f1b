/*
 * frame - reads and writes frames, which carry the messages between hosts, guests and clients.
 *
 * A frame is a length in 4 bytes, big-endian, and then JSON of this length. The length is at
 * most FRAME_MAX, which is checked on write and on read. The caller gives the received bytes to
 * the reader in pieces of any size. The reader allocates memory only for received bytes, so a
 * false length costs no memory. After an invalid length, the reader refuses the rest of the
 * stream. This file uses no sockets.
 */
#ifndef CORE_WIRE_FRAME_H
#define CORE_WIRE_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/fault.h"
#include "core/op/op.h"

enum { FRAME_MAX = 4 << 20, FRAME_HEAD = 4 };

/* A reader of one stream, which the caller zeroes before use. */
struct frame_reader {
	unsigned char head[FRAME_HEAD];
	size_t n_head; /* bytes of the head received so far */
	char *body;
	size_t size; /* bytes of the body, set once the head is read */
	size_t len, room;
	bool whole; /* the last frame_read() returned 1 */
	bool broken;
};

/* Reads bytes of `data` and sets `*used` to the number of bytes read. Returns 1 if the frame is
 * complete. The frame's r->size bytes stay at r->body until the next call. Returns 0 if the
 * frame needs more bytes than `data` has. Returns a negative number if the stream is broken. */
int frame_read(struct frame_reader *r, const char *data, size_t len, size_t *used,
	       struct fault *f);

void frame_release(struct frame_reader *r); /* frees the body and zeroes the reader */

/* Returns the body of a whole frame; the caller frees the body. */
char *frame_take(struct frame_reader *r);

/* Appends an empty head to `out`; the caller then appends the JSON. Returns the offset of the
 * frame in `out`, which frame_close() takes as `start`. */
size_t frame_open(struct text *out);

/* Writes the head of the frame that begins at `start`. If the frame is too large, the function
 * removes the frame from `out` and fails. */
int frame_close(struct text *out, size_t start, struct fault *f);

#endif
