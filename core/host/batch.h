/*
 * batch - runs many calls in one transaction (group commit).
 *
 * One COMMIT with one fsync stores the changes of all calls. Then the host answers the calls. A
 * call that fails leaves no trace in other calls. Most failed calls have changed nothing. After
 * a failed call with changes, the batch is undone and runs again with a savepoint around each
 * call. A savepoint costs 3 us, a quarter of the time that sending a message takes. So the
 * first run of a batch uses no savepoints. If a failed statement has rolled back the whole
 * transaction, the batch runs again from its first call, with a transaction for each call. A
 * batch starts no threads. The writer's thread and the tests call batch_run() directly.
 */
#ifndef CORE_HOST_BATCH_H
#define CORE_HOST_BATCH_H

#include "core/call/call.h"

enum {
	BATCH_CALLS = 256,
	BATCH_MS = 20, /* no call begins to run after this time */
};

/* A batch that has run all its calls asks more() for further calls. more() puts at most `room`
 * calls at `calls` and returns the number of these calls. If more() returns 0, the batch ends. */
struct batch_source {
	size_t (*more)(void *arg, struct call **calls, size_t room);
	void *arg;
};

/* Runs the first calls of the array `calls`, which has `n` > 0 calls: at most BATCH_CALLS
 * calls, and only as many calls as can begin within BATCH_MS. Returns how many calls were run.
 * On return, each call that was run has its answer or its fault, and the successful calls are
 * committed. If COMMIT fails, all calls that were run get the fault `unavailable`. `source` may
 * be NULL. With a source, `calls` has room for BATCH_CALLS, and the source's calls are stored
 * behind the n calls. */
size_t batch_run(struct store *store, struct call **calls, size_t n,
		 const struct batch_source *source);

/* Runs a call that only reads, in its own transaction. */
void batch_read(struct store *store, struct call *call);

/* Undoes a run's changes to `call`, so that the call can run again. `mark` is the mark of the
 * call's arena before the run. call->made is not changed. */
void call_again(struct call *call, struct arena_mark mark);

#endif
