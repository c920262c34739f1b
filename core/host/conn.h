/*
 * conn - a connection of a client to the host's socket.
 *
 * A frame is a Hello (first, optional), a Call, or one of the older messages
 * that a guest's agent may send.  Calls with an id are answered in any order;
 * a call without an id delays the next frames until its answer.  A read waits
 * until the writes that were sent before it are done.  A client that does not
 * read is not read from, and is closed when that lasts or takes too much memory:
 * see below.
 */
#ifndef CORE_HOST_CONN_H
#define CORE_HOST_CONN_H

#include <uv.h>

#include "core/host/conn_flow.h"
#include "core/host/job.h"
#include "core/host/log.h"
#include "core/host/queue.h"
#include "core/wire/frame.h"
#include "core/wire/receipt.h"

/*
 * How many clients are connected to the host's socket at once.
 *
 * Half of the descriptors that the process may have are theirs, CLIENTS_MOST at
 * most; the rest is for guests and for the host itself.  When all places are taken,
 * the oldest client that has never sent a frame is closed.  Without such a client, the
 * new client gets a fault and is closed.
 */

enum {
	CLIENTS_MOST = 4096,
	CLIENT_SILENT_MS = 1000, /* nobody makes room sooner: it may only have come */
};

/* The host's. */
struct crowd {
	size_t n, most;
	struct log_pause refused;
};

/*
 * Answers that clients have not read, bounded in bytes and in time.
 *
 * A client that does not read is not read from (conn.c); here it is closed when that
 * lasts, or when all clients' unread answers together take too much memory.
 */

enum {
	UNREAD_SOFT = 1 << 20, /* of one client: no more calls are taken or run */
	UNREAD_SOFT_S = 60, /* so long above that, and it is closed */
	UNREAD_HARD = 64 << 20, /* of one client: it is closed */
	UNREAD_ALL = 256 << 20, /* of all: who has most is closed */
	/* After an answer of this size a client's reads run one at a time. */
	UNREAD_LARGE = 256 << 10,
	/* How many reads run at a time for all clients whose last answer was that large, or
	 * who had no answer yet: each read holds its rows until the answer is written. */
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

/* Called each second: closes connections that have not read for too long. */
void unread_tick(struct host *host);

struct conn {
	struct host *host;
	struct conn *next, **at; /* in host->clients->first */
	struct conn *dirty; /* in host->clients->dirty */
	uv_pipe_t pipe;
	struct frame_reader reader;
	struct text rest; /* bytes that came while the connection was held up */
	size_t rest_used;
	struct flow flow; /* answers */
	struct unread unread; /* how much of `flow` the client has not read */
	bool is_dirty, closing, closed, ended, stopped;

	struct job *jobs; /* under way, parked ones included */
	size_t n_jobs;
	struct job *solo; /* the call without an id */
	struct chain held; /* reads behind writes, or behind answers */
	size_t n_reads; /* with the readers */
	uint64_t writes_sent, writes_done;
	struct receipts handouts; /* answered, not known to have arrived: handout.h */

	struct identity identity;
	char *texts; /* behind identity's pointers */
	bool greeted, started;
	bool seated; /* it has a place of the crowd's */
	uint64_t since; /* ... from this loop time on */
	bool pinned; /* the channel sets the identity; the client cannot */

	/* A single call that came without a connection, over HTTP: it is told here, and then
	 * over.  NULL: there is a connection. */
	void (*told)(struct conn *c, struct job *job);
	void *owner; /* the callee's; NULL: nobody waits for the answer any more */
};

/* All connections of the host. */
struct clients {
	struct conn *first, *dirty;
	size_t n_jobs; /* calls of all connections that are not answered yet */
	bool crowded; /* they were too many, and are not few again */
	struct unread_all unread;
	struct crowd crowd;
	struct log_pause failed; /* calls, by a fault of ours or of the machine */
};

/* Takes a client that connects to the listener; closes it at once if it
 * is another user's or there is no room. */
void conn_accept(struct host *host);

/* A client at the other end of a descriptor, which is taken over, on a channel that
 * proves who it is. `who` is copied. */
void conn_adopt(struct host *host, int fd, const struct identity *who, bool greeted);

/* Makes room for a single call, which conn_call() starts; `told` is called with its answer
 * unless conn_close() comes before.  NULL: no memory. */
struct conn *conn_single(struct host *host, void (*told)(struct conn *c, struct job *job),
			 void *owner);
/* Starts a decoded call. */
void conn_call(struct conn *c, struct job *job);

/* Ends the call with this id, since nobody waits for it any more, or takes back its answer, since
 * that was lost.  `gone`: the caller left without a word and may have seen the answer. */
void conn_cancel(struct conn *c, const char *id, bool gone);

/* Writes what `dirty` connections have; called before each poll. */
void conn_flush(struct host *host);
void conn_close(struct conn *c);

/* Answers a call of a connection and frees the job; with the connection gone
 * it only frees it. */
void conn_answer(struct job *job);

#endif
