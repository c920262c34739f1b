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
	bool promised; /* the last push was queue_push_part(): another one follows at once */
	unsigned kept; /* how many rows of such pushes have ended */
	bool closed;
	/* The taker's: it took a part, of which the rest is still to be pushed. */
	bool partial;
	unsigned before; /* what `kept` was then */
};

void queue_init(struct queue *q);
void queue_release(struct queue *q);
/* Returns whether the queue was empty before. */
bool queue_push(struct queue *q, struct chain *jobs);
/* Pushes a part: others follow at once, and the last of them is a queue_push(), if only of
 * an empty chain.  The taker of a part may wait for the rest. */
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
