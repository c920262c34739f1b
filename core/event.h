/*
 * event - the log of who did what, and what handlers share around it.
 */
#ifndef EVENT_H
#define EVENT_H

#include "core/call.h"
#include "ops.gen.h"

/* Appends a row by the caller in the caller's team. `detail` may be NULL. */
int event_emit(struct call *call, int kind, int64_t subject, int64_t target,
	       const char *detail);
/* The same for another team or actor: followers and the clock write so. */
int event_emit_as(struct call *call, int kind, int64_t team, int64_t actor,
		  int64_t subject, int64_t target, const char *detail);

#endif
