/*
 * waiters - calls that wait for something to happen.
 *
 * A call that waits is parked under a key.  It runs again when an event of that key is
 * committed.  When its time is over, the call is answered with its present result.  At
 * most limits.max_waits per caller.
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
	int64_t timer_due; /* 0: not running */
};

/* Takes a call that has wait_on: parks it, or runs it again at once when its
 * key has moved since it ran.  False: it is to be answered now. */
bool waiters_park(struct host *host, struct job *job);
/* Forgets a parked job, which is the caller's again. */
void waiters_drop(struct host *host, struct job *job);
/* Runs again what is parked on the key since before event `seq`. */
void waiters_wake(struct host *host, enum wake wake, int64_t key, int64_t seq);
/* The same for all inboxes of a team; for everything when team is 0. */
void waiters_sweep(struct host *host, int64_t team, int64_t seq);

#endif
