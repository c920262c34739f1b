/*
 * mark - resets in a stream of frames that outlives those who speak on it.
 *
 * A serial port has no connections: after a restart of either side, half
 * frames of the one before lie in it.  A mark is what no frames can hold (four
 * bytes FF: a length begins with 00, and no UTF-8 has FF), so it is found
 * wherever it stands, and what was begun before it is thrown away:
 *
 *	FF FF FF FF, kind, 16 hexadecimal digits of a nonce
 *
 *	'?'  host to guest: begin anew, and say so with this nonce
 *	'!'  guest to host: from here on the frames are those of this nonce
 *	'*'  guest to host: whatever was said is forgotten; ask again
 *
 * No sockets here.
 */
#ifndef CORE_WIRE_MARK_H
#define CORE_WIRE_MARK_H

#include <stddef.h>

enum mark { MARK_NONE = 0, MARK_ASK = '?', MARK_OK = '!', MARK_NEW = '*' };

enum { MARK_RUN = 4, MARK_NONCE = 16, MARK_SIZE = MARK_RUN + 1 + MARK_NONCE };

struct mark_reader {
	int run; /* bytes FF that came and were not passed on */
	int n; /* of the nonce; -1: not inside a mark */
	char kind;
	char nonce[MARK_NONCE + 1]; /* of the mark that was read last */
};

/* Makes the reader ready for the first byte. */
void mark_init(struct mark_reader *r);

/* Takes bytes of `*data` (which moves on) up to the end of a mark, whose kind
 * is returned, or all of them.  Bytes that are no mark go to `out`, which takes `*len`
 * + MARK_RUN bytes; `*n` says how many. */
enum mark mark_read(struct mark_reader *r, const char **data, size_t *len, char *out,
		    size_t *n);

/* Writes a mark of this kind and nonce; no NUL is added. */
void mark_write(char out[MARK_SIZE], enum mark kind, const char nonce[MARK_NONCE + 1]);

#endif
