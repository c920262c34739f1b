/*
 * outbuf - keeps the output of a command as text.
 *
 * In the kept text, U+FFFD replaces NUL and bytes that are no UTF-8. At most OUTBUF_MAX bytes
 * are kept, unless the member `most` sets another limit. Only whole characters are kept. If the
 * output is longer than the limit, a marker shows where the text was cut, and all later bytes
 * are only counted. A long output is stored in an unlinked file, so that the output of many
 * finished commands uses little memory.
 */
#ifndef GUEST_OUTBUF_H
#define GUEST_OUTBUF_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/arena.h"

enum { OUTBUF_MAX = 2 << 20 };

struct outbuf {
	char *data;
	size_t len, room; /* len: kept bytes, in memory or in the file. room: size of
			     `data` */
	size_t all; /* bytes of the whole text, with the part that was not kept */
	int fd; /* descriptor of the file; 0: bytes are in memory */
	const char *folder; /* folder for the file; borrowed */
	unsigned char part[4]; /* first bytes of a character that is not yet complete */
	size_t n_part;
	size_t most; /* limit of kept bytes; 0: OUTBUF_MAX */
	bool cut;
	bool replaced; /* the text has U+FFFD in place of invalid bytes */
};

/* Returns at most `len` kept bytes from `offset` on, as a text in the arena; NULL: the file
 * cannot be read. *got is set to the number of returned bytes. */
const char *outbuf_read(const struct outbuf *o, size_t offset, size_t len,
			struct arena *a, size_t *got);

/*
 * output_parts - chooses the parts of a command's two streams that fit into a frame.
 */

struct output_parts {
	const char *text[2]; /* stdout and stderr, each from its offset on */
	size_t len[2];
	size_t offset[2], size[2]; /* size: number of the stream's kept bytes */
	size_t written[2]; /* bytes of the whole stream; 0: all bytes are kept */
	bool replaced; /* a stream has U+FFFD in place of invalid bytes */
	bool more; /* a stream has bytes that did not fit into the frame */
};

/* Fills `p` with the kept texts of a command's two streams, each from its p->offset on. Returns
 * false if a file of kept output cannot be read. */
bool output_parts_read(struct output_parts *p, const struct outbuf *out,
		       const struct outbuf *err, struct arena *a);

/* Fills `p` with two texts, each from its p->offset on. The texts are borrowed. */
void output_parts_take(struct output_parts *p, const char *out, size_t out_size,
		       const char *err, size_t err_size);

/* Returns the stream (0 or 1) whose offset is inside a character or after the end; -1: both
 * offsets are valid. */
int output_parts_bad_offset(const struct output_parts *p);

/* Cuts the texts of both streams, so that they use at most *room bytes of JSON. Subtracts the
 * used bytes from *room. Each stream gets half of the room. What one stream does not use of its
 * half, the other stream may use. If `marked` is true, a cut text ends with a marker, for a
 * peer that cannot ask for the rest of the text. */
void output_parts_fit(struct output_parts *p, size_t *room, bool marked, struct arena *a);

#endif
