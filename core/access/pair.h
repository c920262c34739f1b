/*
 * pair - how soon one agent may speak to another again, so that two that answer each other
 * at once come to rest.
 *
 * The first message of a sender to a recipient may come at once.  A second message sent
 * within 5 s may come 2 s after the first, the third 4 s after the second, then 8, 16,
 * 30, 30 s...; a pair that was quiet for 30 s begins anew.  A pair has at most 10
 * messages in a minute.  Directions count apart.
 */
#ifndef CORE_ACCESS_PAIR_H
#define CORE_ACCESS_PAIR_H

#include "core/call/call.h"

enum {
	PAIR_MINUTE_MS = 60000, /* older messages limit nothing */
	PAIR_DELAY_MOST_MS = 600000, /* no message is delayed for longer */
};

/* Whether a message may come now, counted as sent if so: `*due` is now, or with `delays` the
 * time at which it may be delivered, never before the one in front of it.  Otherwise
 * `rate_limited` at `where`. */
int pair_ask(struct call *call, int64_t sender, const struct agent_row *to, bool delays,
	     const char *where, int64_t *due);

/* Whether the pace of the pair applies to a message of this call.  The caller must be an
 * agent, and limits.pair must cover all messages, or messages that start or interrupt a
 * turn; `turns` says whether the message does. */
bool pair_holds(const struct call *call, bool turns);

/* When the next message of a pair may come: `*at` is now or later; 0 or negative. */
int pair_next(struct call *call, int64_t sender, int64_t recipient, int64_t *at);

#endif
