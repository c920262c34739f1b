/*
 * job - a call that the threads of a host pass on to each other.
 *
 * The loop thread makes a job and gives the job to the writer's thread, to a reader or to a
 * worker. When the call has ended, job.done gets the job on the loop thread. One thread owns a
 * job at a time. A freed job is used again, with the first block of its arena.
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
	struct job *next; /* next job of the list that holds this job */
	struct job_pool *pool;
	struct call call;
	struct packet packet; /* the received message; empty after job_own() has copied
				 its texts */
	json_t *id; /* the request's id, which the answer repeats; NULL: no id */
	int kind; /* type of the received message: see dialect.c */
	struct arena_mark clean; /* mark of the arena before any use */
	struct arena_mark ready; /* mark of the arena after call_decode() */
	uint64_t began; /* uv_hrtime() when the call arrived */
	int64_t first; /* clock_boot_ms() of the first run; a wait counts from then on */
	const struct fault *lost; /* why the state is lost, or NULL */
	atomic_bool gone; /* nobody waits for the job, so the job need not run */
	bool confirms; /* the caller will send Arrived or Cancel */
	bool arrived; /* Arrived was received: the caller keeps claims and messages */
	bool unheard; /* Cancel was received: nobody waits for the answer */

	/* If set, read() runs instead of the call, on a reader's thread, or on a worker's
	 * thread (with `store` NULL). */
	void (*read)(struct job *job, struct store *store);
	/* Called on the loop thread with the finished job; done() has to free the job or pass
	 * it on. */
	void (*done)(struct job *job);
	void *owner; /* data that done() uses */
	int64_t number; /* number that read() and done() use */
	bool writing, reading; /* the job is counted in n_writes, or in n_reads */

	/* Members of a connection's job: see conn.c. */
	struct conn *conn;
	struct job *sibling, **sibling_at; /* links of the list conn->jobs */
	uint64_t after; /* for a read: how many writes the connection has sent before this
			   read */
	bool counted; /* the call's first run has ended */
	bool large; /* for a read: the job is counted in unread_all.large_reads */

	/* Members of a parked job: see waiters.c. */
	struct job *parked, **parked_at;
	int64_t due, caller;
	bool timed_out;
};

struct job_pool {
	struct job *free;
	size_t n_free;
};

struct job *job_new(struct job_pool *pool);
void job_free(struct job *job); /* `job` may be NULL */
void job_pool_release(struct job_pool *pool);

/* Makes `job` ready to run its call once more. */
void job_again(struct job *job);

/* Copies the texts of a decoded call into the call's arena, and frees the packet. The packet's
 * JSON tree is freed early, while it is still in the CPU's cache, so that the next packet uses
 * the same memory. Freeing the tree early saves more time than the copy takes. */
void job_own(struct job *job);
/* Sets the input of a call that the host itself makes. The texts of the input are copied. The
 * arrays of the input's lists are not copied, so these arrays have to be in the job's arena. */
void job_fill(struct job *job, const void *in);

/* Seconds that the call may wait, as the caller asks; 0: the call does not wait. */
int64_t job_patience(const struct job *job);

#endif
