/*
 * job - a call on its way through the threads of a host.
 *
 * The loop thread makes a job, gives it to the writer's thread or to a reader,
 * and gets it back through job.done.  One thread owns a job at a time.  Jobs
 * and the first block of their arenas are used again and again.
 */
#ifndef CORE_HOST_JOB_H
#define CORE_HOST_JOB_H

#include <stdatomic.h>

#include "core/call/call.h"
#include "core/wire/wire.h"

struct host;
struct conn;
struct job_pool;

struct job {
	struct job *next; /* in the list that holds the job */
	struct job_pool *pool;
	struct call call;
	struct packet packet; /* the received message, until it is decoded */
	json_t *id; /* to be echoed; NULL: none */
	int kind; /* type of the received message: see dialect.c */
	struct arena_mark clean; /* the empty arena */
	struct arena_mark ready; /* as call_decode left it */
	uint64_t began; /* uv_hrtime() when it came in */
	int64_t first; /* clock_boot_ms() when it ran first: a wait is counted from then */
	const struct fault *lost; /* why its thread has lost the state; else NULL */
	atomic_bool gone; /* nobody waits for it any more: need not run */
	bool confirms; /* its caller says whether the answer arrived */
	bool arrived; /* the caller said Arrived: claims and messages stay given */
	bool unheard; /* the caller said Cancel: nobody waits for the answer */

	/* Run by a reader, or without the store by a worker, in place of the call, when set. */
	void (*read)(struct job *job, struct store *store);
	/* Called on the loop thread; the job is the callee's from then on. */
	void (*done)(struct job *job);
	void *owner; /* the callee's */
	int64_t number; /* the callee's */
	bool writing, reading; /* counted in the host */

	/* A connection's: see conn.c. */
	struct conn *conn;
	struct job *sibling, **sibling_at; /* in conn.jobs */
	uint64_t after; /* a read: so many writes must be done before */
	bool counted; /* its first run is over */
	bool large; /* a read: counted in the host's unread.large_reads */

	/* Parked: see waiters.c. */
	struct job *parked, **parked_at;
	int64_t due, caller;
	bool timed_out;
};

struct job_pool {
	struct job *free;
	size_t n_free;
};

struct job *job_new(struct job_pool *pool);
void job_free(struct job *job); /* NULL is fine */
void job_pool_release(struct job_pool *pool);

/* Makes `job` ready to run its call once more. */
void job_again(struct job *job);

/* Copies the texts of a decoded call into its arena and lets go of the packet.
 * Its JSON tree is then freed while it is still in the cache, and its memory
 * serves the next packet: that is worth more than the copy costs. */
void job_own(struct job *job);
/* Takes the input of a call of the host's own, with copies of its texts; a list of the
 * input has to live in the job's arena. */
void job_fill(struct job *job, const void *in);

/* Seconds that the call may wait, as its caller said; 0 if it does not. */
int64_t job_patience(const struct job *job);

#endif
