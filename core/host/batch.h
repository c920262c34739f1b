/*
 * batch - many calls in one transaction: group commit.
 *
 * A single COMMIT with a single fsync, then the calls are answered.  A call that fails
 * leaves no trace in other calls.  Most failed calls have changed nothing.  After a failed
 * call with changes, the batch is undone and runs again with a savepoint around each call.
 * (A savepoint costs 3 us, a quarter of a send: the first run does without.)  A
 * failed step may have dropped the whole transaction: then the batch runs
 * again from its first call, each call alone.  No threads here: the writer's thread
 * and tests use it the same way.
 */
#ifndef CORE_HOST_BATCH_H
#define CORE_HOST_BATCH_H

#include "core/call/call.h"

enum {
	BATCH_CALLS = 256,
	BATCH_MS = 20, /* handlers stop being added after this */
};

/* A batch that has run all its calls asks more() for further ones: it puts at most
 * `room` of them at `calls` and returns how many; 0 ends the batch. */
struct batch_source {
	size_t (*more)(void *arg, struct call **calls, size_t room);
	void *arg;
};

/* Runs the first of n > 0 calls, BATCH_CALLS at most and as many as fit the
 * time, and returns how many: these have their answer or their fault, and what
 * was answered well is committed.  If COMMIT fails, all of them are
 * `unavailable`.  With a source, which may be NULL, `calls` has room for
 * BATCH_CALLS, and the calls that it gave come after the n. */
size_t batch_run(struct store *store, struct call **calls, size_t n,
		 const struct batch_source *source);

/* A read in a transaction of its own. */
void batch_read(struct store *store, struct call *call);

/* Takes back what a run left in `call`, so that it can run again; `mark` is
 * its arena before that run.  What it made stays known. */
void call_again(struct call *call, struct arena_mark mark);

#endif
