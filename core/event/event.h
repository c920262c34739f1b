/*
 * event - the log of who did what, and what handlers share around it.
 */
#ifndef CORE_EVENT_EVENT_H
#define CORE_EVENT_EVENT_H

#include "core/call/call.h"
#include "ops.gen.h"

/* Actors other than agents. */
enum { ACTOR_OPERATOR = -1, ACTOR_HOST = 0 };

/* An event to write, with its actor, kind, subject and target. */
struct new_event {
	int kind; /* EVENT_… */
	int64_t team, actor, subject, target;
	const char *detail; /* or NULL */
	int64_t seq; /* as sql_new_id() gives it; 0: the next one */
};

/* Appends an event in any team and by any actor.  Changes that the clock makes count as
 * the host's, whichever process was the first to see them. 0 or negative. */
int event_record(struct call *call, const struct new_event *d);
#define event_by(call, ...) event_record((call), &(const struct new_event){ __VA_ARGS__ })

/* Appends an event by the caller in the caller's team; `detail` may be NULL.  0 or
 * negative. */
int event_emit(struct call *call, int kind, int64_t subject, int64_t target,
	       const char *detail);

/* The caller as an actor. */
int64_t event_actor(const struct call *call);

/* An actor's name, given that of the agent's row. */
const char *event_actor_name(int64_t actor, const char *agent);

/* --- event_show.c: events as they are told ---------------------------------------- */

/* Fills `e` from a row, with the names of subject and target.  Texts are the row's and
 * the call's.  0 or negative. */
int event_show(struct call *call, const struct event_line_row *row, struct event *e);

/* Whether the `n` bytes at `word` mean that kind: its name, or the noun of it. */
bool event_kind_is(const struct event_kind *kind, const char *word, size_t n);

/* Refuses what asks for events that are removed, up to the one before `first`. */
int event_gone(struct call *call, const char *where, int64_t first);

#endif
