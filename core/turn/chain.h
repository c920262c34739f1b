/*
 * chain - how many turns lie between a message and the last words of a person.
 *
 * A person's words have the number 0. A person's words are the words of the operator, and of an
 * agent without a runner, because a person works there. There are two exceptions: mail made the
 * client of such an agent go on, or another agent gave it a command. The agent's words then
 * have a number higher by one than the mail or the command.
 *
 * A turn has a number higher by one than the highest of its messages that may start turns. If a
 * person's words are among its messages, the turn has the number 1. An agent's words have the
 * number of its turn. They have the number 0 again once the agent has completed a task that a
 * person or a plan made.
 *
 * Mail with the number limits.chain starts no turn. So everything that follows from a person's
 * words ends some time.
 */
#ifndef CORE_TURN_CHAIN_H
#define CORE_TURN_CHAIN_H

#include "core/agent/agent.h"
#include "core/message/message.h"

enum { CHAIN_NOTICE = 1 }; /* for cadre's own notices, which are no person's words */

/* The number at which mail starts no turn. It is higher than CHAIN_NOTICE, so that a notice
 * starts a turn. */
int64_t chain_most(const struct call *call);

/* The most turns that an agent may begin in an hour without a person's words. */
int64_t chain_per_hour(const struct call *call);

/* The chain of a message that the caller sends. */
int64_t chain_of(const struct call *call, const struct draft *d);

/* Stores the number of an agent's words. Returns 0 or negative. */
int chain_put(struct call *call, int64_t agent, int64_t chain);

/* Like chain_put(), if the caller is the agent `a` and has no runner. The words of an agent
 * with a runner have the number of its turn. Returns 0 or negative. */
int chain_follow(struct call *call, const struct agent_row *a, int64_t chain);

/* Notes that the caller runs a command as another agent. The words of that agent get a higher
 * number than the caller's words. Returns 0 or negative. */
int chain_give(struct call *call, int64_t agent);

/* Tells the lead and the operator that mail for `to` starts no turn. It tells once for the
 * team, until the operator has read the message. Returns 0 or negative. */
int chain_tell(struct call *call, const struct agent_row *to);

#endif
