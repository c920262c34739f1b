/*
 * waiters - calls that wait for an event.
 *
 * A call that waits is parked under a key.  It runs again when an event of that key is
 * committed. When its time is over, the call is answered with its present result. A caller may
 * have at most limits.max_waits such calls.
 */
#ifndef CORE_HOST_WAITERS_H
#define CORE_HOST_WAITERS_H

#include <uv.h>

#include "core/host/job.h"

enum { WAIT_BUCKETS = 256 };

struct waiters {
	struct job *bucket[WAIT_BUCKETS];
	size_t n;
	uv_timer_t timer;
	int64_t timer_due; /* 0: the timer does not run */
};

/* Takes a call with wait_on set. Parks the call. If an event of the call's key was committed
 * after the call ran, runs the call again at once. False: the caller has to answer the call
 * now. */
bool waiters_park(struct host *host, struct job *job);
/* Removes a parked job, which the caller then owns. */
void waiters_drop(struct host *host, struct job *job);
/* Runs the calls again that wait for the key and last ran before event `seq`. */
void waiters_wake(struct host *host, enum wake wake, int64_t key, int64_t seq);
/* Runs the calls again that wait for any inbox of a team, and last ran before event `seq`. With
 * team 0, runs all calls that wait for an inbox. */
void waiters_sweep(struct host *host, int64_t team, int64_t seq);

#endif
