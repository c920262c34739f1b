/*
 * queue - jobs that one thread hands to another.
 *
 * Chains are pushed and taken whole, so that a batch costs one lock and one
 * wake-up.  The owner bounds what is in it.
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
void chain_join(struct chain *c, struct chain *more); /* leaves more empty */
struct job *chain_pop(struct chain *c); /* NULL when empty */

enum { PROMISE_MS = 5 };

struct queue {
	uv_mutex_t lock;
	uv_cond_t ready;
	struct chain jobs;
	int sleepers;
	bool promised; /* by who pushed last: more jobs */
	unsigned kept; /* promises that are over */
	bool closed;
	/* The taker's: what it took last is not all of a promise. */
	bool partial;
	unsigned before; /* what `kept` was then */
};

void queue_init(struct queue *q);
void queue_release(struct queue *q);
/* Returns whether the queue was empty before. */
bool queue_push(struct queue *q, struct chain *jobs);
/* The first of several pushes, of which the last is a queue_push(), if only of an
 * empty chain, and comes at once: whoever takes these may wait for it. */
void queue_push_part(struct queue *q, struct chain *jobs);
/* Waits for jobs; takes `most` at most into the empty `out`.  False when the
 * queue is closed and empty. */
bool queue_take(struct queue *q, struct chain *out, size_t most);
/* After a queue_take() of a queue with one taker: waits for the rest of what was
 * pushed in parts, PROMISE_MS at most.  False when there is none. */
bool queue_take_more(struct queue *q, struct chain *out, size_t most);
void queue_take_all(struct queue *q, struct chain *out); /* never waits */
void queue_close(struct queue *q);

#endif
