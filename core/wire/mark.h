/*
 * mark - resets in a stream of frames that outlives the processes at its ends.
 *
 * A serial port has no connections: after a restart of either side, the port may still hold
 * half a frame of the old process. A mark begins with four bytes FF, which no frame can
 * contain: a length begins with 00, and UTF-8 text has no FF. So a mark is found at any place
 * in the stream, and an unfinished frame before the mark is dropped:
 *
 *	FF FF FF FF, kind, 16 hexadecimal digits of a nonce
 *
 *	'?'  host to guest: begin anew, and say so with this nonce
 *	'!'  guest to host: from here on the frames are those of this nonce
 *	'*'  guest to host: all earlier bytes are forgotten; ask again
 *
 * This file uses no sockets.
 */
#ifndef CORE_WIRE_MARK_H
#define CORE_WIRE_MARK_H

#include <stddef.h>

enum mark { MARK_NONE = 0, MARK_ASK = '?', MARK_OK = '!', MARK_NEW = '*' };

enum { MARK_RUN = 4, MARK_NONCE = 16, MARK_SIZE = MARK_RUN + 1 + MARK_NONCE };

struct mark_reader {
	int run; /* FF bytes received and not passed on */
	int n; /* digits of the nonce so far; -1: not inside a mark */
	char kind;
	char nonce[MARK_NONCE + 1]; /* nonce of the mark that was read last */
};

/* Makes the reader ready for the first byte. */
void mark_init(struct mark_reader *r);

/* Takes bytes of `*data` and moves `*data` forward, up to the end of a mark, or takes all bytes
 * if there is no mark. Returns the kind of the mark. Bytes outside a mark are written to `out`,
 * which must have room for `*len` + MARK_RUN bytes; `*n` is set to their number. */
enum mark mark_read(struct mark_reader *r, const char **data, size_t *len, char *out,
		    size_t *n);

/* Writes a mark of this kind and nonce; no NUL is added. */
void mark_write(char out[MARK_SIZE], enum mark kind, const char nonce[MARK_NONCE + 1]);

#endif
