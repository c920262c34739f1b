/*
 * frame - the envelope of the guest wire: a length, then JSON.
 *
 * A frame is 4 bytes, big-endian, that count the bytes of JSON behind them; at
 * most FRAME_MAX of these, checked on write and on read.  The reader is fed
 * with whatever bytes came and takes memory only for bytes that are there, so
 * a lying length costs nothing.  After a bad length a stream cannot be
 * understood again: the reader stays broken.  No sockets here.
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
	size_t n_head; /* bytes of the head that are there */
	char *body;
	size_t size; /* of the body, known once the head is whole */
	size_t len, room;
	bool whole; /* body is a frame that the caller has been given */
	bool broken;
};

/* Takes bytes of `data` and says in `*used` how many.  1: a frame is whole, its
 * r->size bytes are at r->body until the next call; 0: all bytes are taken and
 * more are needed; negative: the stream is broken. */
int frame_read(struct frame_reader *r, const char *data, size_t len, size_t *used,
	       struct fault *f);

void frame_release(struct frame_reader *r); /* leaves it new */

/* Hands over the body of a whole frame; the caller frees it. */
char *frame_take(struct frame_reader *r);

/* Makes room for a head in `out`; the JSON is then appended by the caller.  Returns
 * where the frame starts, for frame_close(). */
size_t frame_open(struct text *out);

/* Writes the head of the frame begun at `start`.  A frame that is too large is taken out
 * of `out` again and is a fault. */
int frame_close(struct text *out, size_t start, struct fault *f);

#endif
