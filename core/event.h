/*
 * event - the log of who did what, and what handlers share around it.
 */
#ifndef CORE_EVENT_H
#define CORE_EVENT_H

#include "core/call.h"
#include "ops.gen.h"

/* Actors that are no agent. */
enum { ACTOR_OPERATOR = -1, ACTOR_HOST = 0 };

/* Who did what to which noun. */
struct deed {
	int kind; /* EVENT_… */
	int64_t team, actor, subject, target;
	const char *detail; /* or NULL */
};

/* Appends a row: in another team than the caller's, or by another actor.  What the
 * clock does, the host did, whoever was the first to see it. */
int event_record(struct call *call, const struct deed *d);
#define event_by(call, ...) event_record((call), &(const struct deed){ __VA_ARGS__ })

/* The same by the caller in the caller's team.  `detail` may be NULL. */
int event_emit(struct call *call, int kind, int64_t subject, int64_t target,
	       const char *detail);

/* The caller as an actor. */
int64_t event_actor(const struct call *call);

/* An actor's name, given that of the agent's row. */
const char *event_actor_name(int64_t actor, const char *agent);

#endif
