/*
 * host_follow - reads the event log after each commit of this process or of another process.
 *
 * While a room of the host needs events, the log is read after each batch of this process,
 * after another process has written the bell, and at least four times a second. Rooms need
 * events for waiting calls, for guests, and for clients who follow the log over HTTP. If only
 * clients of HTTP need events, the host pauses for 10 ms after each page of events that is not
 * full. So clients of HTTP that only wait for events hardly slow the calls of agents. `recent`
 * stores the newest event number of each key. If the event that a call waits for was read
 * before the call began to wait, `recent` shows that the call has to run again. Two keys may
 * share a place in `recent`, so a call may be run once more without need.
 */
#ifndef CORE_HOST_HOST_FOLLOW_H
#define CORE_HOST_HOST_FOLLOW_H

#include <uv.h>

#include "core/op/op.h"

struct host;

enum { RECENT_KEYS = 1024 };

struct follow {
	uv_fs_event_t bell;
	uv_timer_t net, later; /* `net` fires four times a second, `later` at a pause's
				  end */
	uint64_t rests_until; /* loop time when a pause ends; there is no pause while a
				 room needs events at once */
	int64_t position; /* number of the last event that was read */
	int64_t since; /* no event after this number was skipped */
	int64_t recent[RECENT_KEYS];
	bool wanted, reading, again;
};

/* Begins to read the event log, because a room of the host needs events. */
void follow_want(struct host *host);
/* Looks for new events, because a transaction may have been committed. */
void follow_poke(struct host *host);
/* Whether an event after `as_of` may concern the key. */
bool follow_moved(struct host *host, enum wake wake, int64_t key, int64_t team,
		  int64_t as_of);

#endif
