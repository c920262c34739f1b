/*
 * host_follow - reads the event log after each commit of this process or of another process.
 *
 * It reads after each batch of this process, when another process writes the bell, and four
 * times a second in any case. It reads only while a room of the host needs events: for waiting
 * calls, for links to guests, or for clients who follow the log over HTTP. If only clients of
 * HTTP need events, a pause of 10 ms follows a page of events that no client wanted. So silent
 * clients slow other agents' calls down little. `recent` keeps the newest event number per key.
 * If a call begins to wait after its event was read, the call is run again. If two keys share a
 * place, a call may be run once without need.
 */
#ifndef CORE_HOST_HOST_FOLLOW_H
#define CORE_HOST_HOST_FOLLOW_H

#include <uv.h>

#include "core/op/op.h"

struct host;

enum { RECENT_KEYS = 1024 };

struct follow {
	uv_fs_event_t bell;
	uv_timer_t net, later; /* `later` ends a pause */
	uint64_t rests_until; /* loop time at which the pause ends, unless a call or guest waits */
	int64_t position; /* number of the last event read */
	int64_t since; /* number after which no event was skipped */
	int64_t recent[RECENT_KEYS];
	bool wanted, reading, again;
};

/* Begins to follow events, since a caller waits for an event. */
void follow_want(struct host *host);
/* Looks for new events: a transaction may have been committed. */
void follow_poke(struct host *host);
/* Whether an event after `as_of` may concern the key. */
bool follow_moved(struct host *host, enum wake wake, int64_t key, int64_t team,
		  int64_t as_of);

#endif
