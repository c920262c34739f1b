/*
 * unread - answers that clients have not read, bounded in bytes and in time.
 *
 * A client that does not read is not read from (conn.c); here it is closed when that
 * lasts, or when all clients' unread answers together take too much memory.
 */
#ifndef CORE_HOST_UNREAD_H
#define CORE_HOST_UNREAD_H

#include <stdbool.h>
#include <stddef.h>

#include "core/host/log.h"

struct host;
struct conn;

enum {
	UNREAD_SOFT = 1 << 20, /* of one client: no more calls are taken or run */
	UNREAD_SOFT_S = 60, /* so long above that, and it is closed */
	UNREAD_HARD = 64 << 20, /* of one client: it is closed */
	UNREAD_ALL = 256 << 20, /* of all: who has most is closed */
	/* After an answer of this size a client's reads run one at a time. */
	UNREAD_LARGE = 256 << 10,
	/* Reads that run at a time of all clients whose last answer was that large or who
	 * had none yet: each holds what it has found until the answer is written. */
	UNREAD_LARGE_READS = 4,
};

/* A client's. */
struct unread {
	size_t memory; /* of the buffers of its unread answers, as counted in the host */
	int seconds; /* above UNREAD_SOFT without a break; the host ran meanwhile */
	bool small; /* the answer of its last read was; not before it had one */
};

/* The host's. */
struct unread_all {
	size_t memory; /* of the buffers of all clients' unread answers */
	int large_reads; /* under way, at most UNREAD_LARGE_READS */
	struct log_pause closed;
};

/* Counts the bytes that the client has not read.  May close this client or another
 * client. */
void unread_note(struct conn *c);
void unread_forget(struct conn *c); /* it is closing */

/* Called each second: closes connections that have not read for too long. */
void unread_tick(struct host *host);

#endif
