/*
 * limit - whether a caller may make a call now: each caller has a bucket of calls for each
 * category.
 *
 * Limits bind agents and the tokens of observers. Limits do not bind the host. Limits do not
 * bind the operator, even if the operator acts as an agent. Reads have no limit.
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

/* The rate under which the call is counted. */
static inline enum rate limit_rate(const struct call *call)
{
	return call->rate.stands ? call->rate.stands_for : call->op->rate;
}

/* The category of operations with this rate: an enum rate_category. The rate must not be
 * RATE_FREE. */
int64_t limit_category(enum rate rate);
/* The size of the buckets for this rate. */
struct rate_size limit_size(const struct config *config, enum rate rate);

/* Takes a call out of its caller's bucket. A call that runs several times is counted once.
 * Returns 0 or `rate_limited`. The bucket does not get the call back if the operation fails
 * later. */
int limit_spend(struct call *call);
/* Writes the bucket of a call whose own transaction was undone. Does nothing in a process of a
 * host. */
void limit_settle(struct call *call);

#endif
