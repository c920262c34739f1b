/*
 * mark - resets a stream of frames after a restart of the process at either end.
 *
 * A serial port has no connections. After a restart of either side, the port may still hold
 * half a frame of the old process. A mark begins with four bytes FF. No frame contains four
 * bytes FF in a row, since at most the last two bytes of a length are FF, and UTF-8 text has no
 * FF. For this reason a reader finds a mark at any place in the stream, and drops an unfinished
 * frame before the mark. The marks are:
 *
 *	FF FF FF FF, kind, 16 hexadecimal digits of a nonce
 *
 *	'?'   host to guest: begin anew, and answer with this nonce
 *	'!'   guest to host: the frames after this mark follow the '?' with this nonce
 *	'*'   guest to host: the guest has dropped all earlier bytes; send '?' again
 *
 * This file uses no sockets.
 */
#ifndef CORE_WIRE_MARK_H
#define CORE_WIRE_MARK_H

#include <stddef.h>

enum mark { MARK_NONE = 0, MARK_ASK = '?', MARK_OK = '!', MARK_NEW = '*' };

enum { MARK_RUN = 4, MARK_NONCE = 16, MARK_SIZE = MARK_RUN + 1 + MARK_NONCE };

struct mark_reader {
	int run; /* FF bytes received, but not written to `out` */
	int n; /* digits of the nonce so far, or -1 outside a mark */
	char kind;
	char nonce[MARK_NONCE + 1]; /* nonce of the last mark */
};

/* Makes the reader ready for the first byte. */
void mark_init(struct mark_reader *r);

/* Reads `*data` up to the end of the first mark, or all of `*data` if there is no mark. Moves
 * `*data` behind the bytes read, and reduces `*len`. Returns the kind of the mark, or
 * MARK_NONE. Bytes outside a mark are written to `out`, which must have room for `*len` +
 * MARK_RUN bytes. `*n` is set to the number of written bytes. */
enum mark mark_read(struct mark_reader *r, const char **data, size_t *len, char *out,
		    size_t *n);

/* Writes a mark of this kind and nonce; no NUL is added. */
void mark_write(char out[MARK_SIZE], enum mark kind, const char nonce[MARK_NONCE + 1]);

#endif
