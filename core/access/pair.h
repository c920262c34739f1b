/*
 * pair - how soon one agent may write to another agent again. If two agents answer each other
 * immediately, the waits slow them down.
 *
 * The first message of a sender to a recipient may be delivered immediately. A second message
 * sent within 5 s may be delivered 2 s after the first message. A third message may be
 * delivered 4 s after the second message, and later messages after 8, 16, 30, 30 s... A pair
 * that was quiet for 30 s begins again without a wait. A pair has at most 10 messages in a
 * minute. The messages of each direction are counted separately.
 */
#ifndef CORE_ACCESS_PAIR_H
#define CORE_ACCESS_PAIR_H

#include "core/call/call.h"

enum {
	PAIR_MINUTE_MS = 60000, /* only a pair's messages within this time are counted */
	PAIR_DELAY_MOST_MS = 600000, /* the longest delay of a message */
};

/* Whether a message may be sent now. A message that may be sent is counted as sent. `*due` is
 * now, or with `delays` the time at which the message may be delivered. `*due` is never before
 * the time of the pair's previous message. Returns `rate_limited` at `where` if the message may
 * not be sent. */
int pair_ask(struct call *call, int64_t sender, const struct agent_row *to, bool delays,
	     const char *where, int64_t *due);

/* Whether the pace of the pair applies to a message of this call. The caller must be an agent,
 * limits must be enabled, and limits.pair must be `all` or `turns`. If limits.pair is `turns`,
 * the pace applies only to a message that starts or interrupts a turn. The argument `turns`
 * is true for such a message. */
bool pair_holds(const struct call *call, bool turns);

/* Finds the time at which the next message of a pair may be sent: `*at` is now or later.
 * Returns 0 or negative. */
int pair_next(struct call *call, int64_t sender, int64_t recipient, int64_t *at);

#endif
