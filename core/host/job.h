/*
 * job - a call on its way through the threads of a host.
 *
 * The loop thread makes a job, gives it to the writer's thread or to a reader, and gets it back
 * through job.done. One thread owns a job at a time. A job that was freed is used again, with
 * the first block of its arena.
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
	struct packet packet; /* the received message, until its call owns the texts */
	json_t *id; /* id that the answer repeats; NULL: no id */
	int kind; /* type of the received message: see dialect.c */
	struct arena_mark clean; /* the empty arena */
	struct arena_mark ready; /* the arena after call_decode() */
	uint64_t began; /* uv_hrtime() when the call arrived */
	int64_t first; /* clock_boot_ms() of the first run, when a wait begins */
	const struct fault *lost; /* why the state is lost, or NULL */
	atomic_bool gone; /* nobody waits for the job, so the job need not run */
	bool confirms; /* the caller will say whether the answer arrived */
	bool arrived; /* the caller said Arrived, so claims and messages stay given */
	bool unheard; /* the caller said Cancel, so nobody waits for the answer */

	/* If set, runs in place of the call: on a reader's thread, or on a worker's thread
	 * without the store. */
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
	uint64_t after; /* if a read: number of the connection's writes before this job */
	bool counted; /* the first run has ended */
	bool large; /* if a read: the job is counted in unread_all.large_reads */

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

/* Copies the texts of a decoded call into the call's arena and frees the packet. The packet's
 * JSON tree is freed while the tree is still in the CPU's cache, and the next packet uses the
 * tree's memory. Freeing the tree early saves more time than the copy takes. */
void job_own(struct job *job);
/* Sets the input of a call that the host itself makes, with copies of the input's texts. Lists
 * are not copied, so a list has to be in the job's arena. */
void job_fill(struct job *job, const void *in);

/* Seconds for which the caller lets the call wait; 0: the call does not wait. */
int64_t job_patience(const struct job *job);

#endif
