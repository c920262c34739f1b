/*
 * output_parts - a command's two streams, of which a frame takes what fits.
 */
#ifndef GUEST_OUTPUT_PARTS_H
#define GUEST_OUTPUT_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/arena.h"
#include "guest/outbuf.h"

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
