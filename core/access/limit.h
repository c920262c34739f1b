/*
 * limit - whether a call may be made now: its caller has a bucket of calls.
 *
 * Limits bind agents.  The operator is free of them, also where he acts as an agent, and so
 * is the host.
 */
#ifndef CORE_ACCESS_LIMIT_H
#define CORE_ACCESS_LIMIT_H

#include "core/call/call.h"

/* Whether a caller of this kind has a bucket for operations with this rate. */
static inline bool limit_binds(const struct config *config, const struct identity *who,
			       enum rate rate)
{
	return rate != RATE_FREE && (who->agent || who->looks) && !who->as &&
	       who->level != WHO_HOST && config->limits_enabled;
}

/* The rate that a call is counted with. */
static inline enum rate limit_rate(const struct call *call)
{
	return call->rate.stands ? call->rate.stands_for : call->op->rate;
}

/* The category of operations with this rate, which is not RATE_FREE: an enum rate_category. */
int64_t limit_category(enum rate rate);
/* The size of their bucket. */
struct rate_size limit_size(const struct config *config, enum rate rate);

/* Takes a call out of its caller's bucket, once however often the call runs: 0, or
 * `rate_limited`.  The call stays spent if it fails later. */
int limit_spend(struct call *call);
/* Without a host: writes what a call has spent whose own transaction was undone. */
void limit_settle(struct call *call);

#endif
