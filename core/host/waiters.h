/*
 * waiters - calls that wait for an event.
 *
 * A call that waits is parked under a key. A parked call runs again when an event of its key is
 * committed. When a call's waiting time is over, the call is answered with its present result.
 * A caller may have at most limits.max_waits waiting calls.
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
	int64_t timer_due; /* when the timer fires; 0: the timer does not run */
};

/* Parks a call whose `wait_on` is set. If an event of the call's key was committed after the
 * call ran, the call is not parked, but run again at once. Returns false if the call may not
 * wait; the caller of this function then answers the call. */
bool waiters_park(struct host *host, struct job *job);
/* Removes a parked job. The caller of this function then owns the job. */
void waiters_drop(struct host *host, struct job *job);
/* Finds the calls that wait for `key` and last ran before the event `seq`, and runs these calls
 * again. */
void waiters_wake(struct host *host, enum wake wake, int64_t key, int64_t seq);
/* Finds the calls that wait for any inbox of `team` and last ran before the event `seq`, and
 * runs these calls again. `team` 0: does the same with all waiting calls that last ran before
 * the event `seq`. */
void waiters_sweep(struct host *host, int64_t team, int64_t seq);

#endif
