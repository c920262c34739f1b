/*
 * batch - many calls in one transaction: group commit.
 *
 * One COMMIT with one fsync stores all calls, then the calls are answered. A call that fails
 * leaves no trace in other calls. Most failed calls have changed nothing. After a failed call
 * with changes, the batch is undone and runs again with a savepoint around each call. A
 * savepoint costs 3 us, a quarter of the time of a send. So the first run uses no savepoints.
 * If a failed step has dropped the whole transaction, the batch runs again from its first call,
 * each call alone. A batch starts no threads: the writer's thread and the tests call
 * batch_run() directly.
 */
#ifndef CORE_HOST_BATCH_H
#define CORE_HOST_BATCH_H

#include "core/call/call.h"

enum {
	BATCH_CALLS = 256,
	BATCH_MS = 20, /* no more calls are run after this time */
};

/* A batch that has run all its calls asks more() for further calls. more() puts at most `room`
 * calls at `calls` and returns their number; 0 ends the batch. */
struct batch_source {
	size_t (*more)(void *arg, struct call **calls, size_t room);
	void *arg;
};

/* Runs the first of n > 0 calls: BATCH_CALLS at most, and as many as fit the time. Returns how
 * many calls were run. After the return each of these calls has its answer or its fault, and
 * the successful calls are committed. If COMMIT fails, all these calls get the fault
 * `unavailable`. `source` may be NULL. With a source, `calls` has room for BATCH_CALLS, and the
 * source's calls are stored behind the n calls. */
size_t batch_run(struct store *store, struct call **calls, size_t n,
		 const struct batch_source *source);

/* Runs a read in a transaction of its own. */
void batch_read(struct store *store, struct call *call);

/* Undoes a run's changes to `call`, so that the call can run again; `mark` is the mark of the
 * call's arena before that run. call->made is kept. */
void call_again(struct call *call, struct arena_mark mark);

#endif
