/*
 * conn - a connection of a client to the host's socket, or a single call over HTTP.
 *
 * A frame is a Hello (first, optional), a Call, a Cancel, an Arrived, or one of the older
 * messages that a guest's agent may send. Calls with an id are answered in any order. A call
 * without an id delays the next frames until the call is answered. A read waits until the
 * client's earlier writes are done. The host stops reading from a client that does not read its
 * answers. The host closes a client that does not read for too long, or whose unread answers
 * take too much memory (see struct unread).
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
 * The number of clients that can be connected to the host's socket at once.
 *
 * Half of the process's descriptors are for clients, CLIENTS_MOST at most. The other half is
 * for guests and for the host itself. When all places are taken, the oldest client that has
 * never sent a frame is closed. If no client can be closed, the new client gets a fault and is
 * closed.
 */

enum {
	CLIENTS_MOST = 4096,
	CLIENT_SILENT_MS = 1000, /* a silent client may be closed only after this time */
};

/* The places for clients, counted for the whole host. */
struct crowd {
	size_t n, most;
	struct log_pause refused;
};

/*
 * Answers that clients have not read, bounded in bytes and in time.
 *
 * The host stops reading from a client that does not read its answers (conn.c). The host closes
 * the client when the client does not read for too long, or when all clients' unread answers
 * together take too much memory.
 */

enum {
	/* Unread bytes of one client above which no more calls of the client are taken or
	 * run. */
	UNREAD_SOFT = 1 << 20,
	UNREAD_SOFT_S = 60, /* seconds above UNREAD_SOFT after which a client is closed */
	/* Unread bytes of one client above which the client is closed. */
	UNREAD_HARD = 64 << 20,
	/* Bytes of all clients' buffers above which the client with the most bytes is closed. */
	UNREAD_ALL = 256 << 20,
	/* After an answer of this size a client's reads run one at a time. */
	UNREAD_LARGE = 256 << 10,
	/* The number of large reads that run at a time for all clients. A read counts as large
	 * until a read of the client has had an answer below UNREAD_LARGE bytes. After any
	 * larger answer, the client's reads count as large again. Each read holds its rows
	 * until the answer is written, and the small reads of other clients wait behind it. */
	UNREAD_LARGE_READS = 4,
};

/* The unread answers of one client. */
struct unread {
	size_t memory; /* bytes of the client's buffers; part of unread_all.memory */
	int seconds; /* number of ticks in a row at which the unread bytes were above
			UNREAD_SOFT; one tick a second */
	bool small; /* the last read's answer was small, and so were all later answers of
		       writes; false before the first read */
};

/* The unread answers of all clients. */
struct unread_all {
	size_t memory; /* bytes of the buffers of all clients' unread answers */
	int large_reads; /* large reads under way, at most UNREAD_LARGE_READS */
	struct log_pause closed;
};

/* Called each second. Closes connections that have not read for too long. */
void unread_tick(struct host *host);

/*
 * States of a client's connection, with the members that hold them:
 *
 *	          too many calls, or too many unread answers
 *	READING --------------------------------------------> HELD UP
 *	  |    ^                                                |  |  more bytes than REST_MOST
 *	  |    |  calls end, and the client reads: read_on()    |  +----------> `stopped`
 *	  |    +------------------------------------------------+                   |
 *	  |    ^                                                |                   |
 *	  |    +----------------- `rest` is empty: read_on() ------------------------+
 *	  |                                                     |
 *	  |  the client closed its side                         |
 *	  +---------------------> `ended` <---------------------+
 *	                             |  every call is answered, and the answers are sent
 *	                             v
 *	                         `closing`: conn_close(), from any state
 *	                             |  the handle is closed
 *	                             v
 *	                         `closed`, freed with the last call: conn_unref()
 *
 * held_up() decides between READING and HELD UP. In HELD UP, received bytes are added to
 * `rest`. In `stopped`, no bytes are read. In `ended`, writes run to their end. Calls that only
 * wait, read or receive are dropped.
 *
 * The steps of a call:
 *
 *	on_frame() --> start_job() --> a write: host_write() ---------------> on_job()
 *	                    |                                                  ^  |
 *	                    +--> a read: `held` --> release_held()             |  |
 *	                                                 +--> host_read() -----+  |
 *	                                                                          v
 *	conn_answer() <---------------------------------------------------- conn_go_on()
 *	     ^                                                                    |
 *	     +-- a guest has answered, or an awaited change has come <------------+
 */
struct conn {
	struct host *host;
	struct conn *next, **at; /* links of the list host->clients->first */
	struct conn *dirty; /* link of the list host->clients->dirty */
	uv_pipe_t pipe;
	struct frame_reader reader;
	struct text rest; /* bytes received while the connection was held up */
	size_t rest_used;
	struct flow flow; /* answers on their way to the client */
	struct unread unread; /* how much of `flow` the client has not read */
	bool is_dirty, closing, closed, ended, stopped;

	struct job *jobs; /* calls under way, parked calls included */
	size_t n_jobs;
	struct job *solo; /* the call under way that has no id */
	struct chain held; /* reads that wait for writes, or for room for answers */
	size_t n_reads; /* reads that were passed to threads and have not ended */
	uint64_t writes_sent, writes_done;
	struct receipts handouts; /* answers that perhaps did not arrive: handout.h */

	struct identity identity;
	char *texts; /* memory of the identity's texts */
	bool greeted, started;
	bool seated; /* the client has one of the places of struct crowd */
	uint64_t since; /* loop time at which the client got its place */
	bool pinned; /* the channel sets the identity, not the client */

	/* Called with the answer of a single call over HTTP, which has no connection. The conn
	 * ends after this answer. NULL: the conn has a connection. */
	void (*told)(struct conn *c, struct job *job);
	void *owner; /* argument for `told`; NULL: nobody waits for the answer */
};

/* All connections of the host. */
struct clients {
	struct conn *first, *dirty;
	size_t n_jobs; /* calls of all connections that are not answered yet */
	bool crowded; /* n_jobs reached JOBS_ALL and is still above 3/4 of JOBS_ALL */
	struct unread_all unread;
	struct crowd crowd;
	struct log_pause failed; /* pauses the log of failed calls */
};

/* Takes a client that connects to the listener. Closes the client at once if the client belongs
 * to another user, or if there is no room. */
void conn_accept(struct host *host);

/* Takes over a descriptor whose other end is a client, on a channel that proves the client's
 * identity. `who` is copied. */
void conn_adopt(struct host *host, int fd, const struct identity *who, bool greeted);

/* Makes a conn for a single call, which conn_call() starts. `told` is called with the call's
 * answer unless conn_close() is called before. Returns NULL if there is no memory. */
struct conn *conn_single(struct host *host, void (*told)(struct conn *c, struct job *job),
			 void *owner);
/* Starts a decoded call. */
void conn_call(struct conn *c, struct job *job);

/* Ends the call with this id, since nobody waits for its answer any more. If the call has been
 * answered, the answer counts as lost, and its messages and claims are taken back. `gone` means
 * that the caller left without a cancel, and may have seen the answer. */
void conn_cancel(struct conn *c, const char *id, bool gone);

/* Sends the answers of `dirty` connections. Called before each poll. */
void conn_flush(struct host *host);
void conn_close(struct conn *c);

/* Answers a call of a connection and frees the job. If the connection is gone, only frees the
 * job. */
void conn_answer(struct job *job);

#endif
