/*
 * queue - jobs that one thread gives to another thread.
 *
 * A whole chain of jobs is pushed or taken at a time, so that a batch costs one lock and one
 * wake-up. The queue itself has no limit of jobs; its owner has to set a limit.
 */
#ifndef CORE_HOST_QUEUE_H
#define CORE_HOST_QUEUE_H

#include <uv.h>

#include "core/host/job.h"

/* A list of jobs in order; `(struct chain){ 0 }` is empty. */
struct chain {
	struct job *first, *last;
	size_t n;
};

void chain_add(struct chain *c, struct job *job);
void chain_join(struct chain *c, struct chain *more); /* empties `more` */
struct job *chain_pop(struct chain *c); /* NULL: the chain is empty */

enum { PROMISE_MS = 5 };

struct queue {
	uv_mutex_t lock;
	uv_cond_t ready;
	struct chain jobs;
	int sleepers;
	bool promised; /* the last push was a part of a chain, and the chain's rest
			  follows at once */
	unsigned kept; /* number of pushes that were not parts */
	bool closed;
	/* Used only if one thread takes all jobs. True: the thread has taken a part of a chain,
	 * and the rest of the chain is not pushed yet. */
	bool partial;
	unsigned before; /* value of `kept` when the part was taken */
};

void queue_init(struct queue *q);
void queue_release(struct queue *q);
/* Pushes a whole chain. Returns whether the queue was empty before the push. */
bool queue_push(struct queue *q, struct chain *jobs);
/* Pushes a part of a chain. The caller pushes the rest at once, and ends with a queue_push(),
 * whose chain may be empty. The thread that takes a part may wait for the rest. */
void queue_push_part(struct queue *q, struct chain *jobs);
/* Waits for jobs, and moves at most `most` jobs to `out`, which has to be empty. Returns false
 * if the queue is closed and empty. */
bool queue_take(struct queue *q, struct chain *out, size_t most);
/* Called after queue_take() if only one thread takes jobs from the queue. If the taken jobs
 * were a part of a chain, waits for the chain's rest, but not longer than PROMISE_MS. Returns
 * false if no further jobs were taken. */
bool queue_take_more(struct queue *q, struct chain *out, size_t most);
void queue_take_all(struct queue *q, struct chain *out); /* never waits */
void queue_close(struct queue *q);

#endif
