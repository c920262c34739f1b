/*
 * host_follow - reads the event log behind every commit, ours and others'.
 *
 * It looks after each batch of this process, when the bell of another one
 * rings, and four times a second in any case; but only while a room of the host
 * wants to know: waiting calls, links to guests, and clients who follow the log over
 * HTTP.  Beside HTTP's clients alone, the look rests 10 ms behind a page of events that no
 * client wanted: silent followers cost other agents' calls little.  `recent`
 * keeps the newest number per key, so that a call which parks after its event
 * was read runs again; two keys in one place only cost a run for nothing.
 */
#ifndef CORE_HOST_HOST_FOLLOW_H
#define CORE_HOST_HOST_FOLLOW_H

#include <uv.h>

#include "core/op/op.h"

struct host;

enum { RECENT_KEYS = 1024 };

struct follow {
	uv_fs_event_t bell;
	uv_timer_t net, later; /* later: ends a rest */
	uint64_t rests_until; /* loop time; waiting calls and guests end the rest */
	int64_t position; /* events up to this one are read */
	int64_t since; /* the events after this one are read without gaps */
	int64_t recent[RECENT_KEYS];
	bool wanted, reading, again;
};

/* Begins to follow events: a caller waits for one. */
void follow_want(struct host *host);
/* Looks for new events: a transaction may have been committed. */
void follow_poke(struct host *host);
/* Whether the key may have moved after event `as_of`. */
bool follow_moved(struct host *host, enum wake wake, int64_t key, int64_t team,
		  int64_t as_of);

#endif
