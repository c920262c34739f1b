/*
 * chain - a number that tells how many turns lie between a message and the last words of a
 * person.
 *
 * The words of a person have the number 0. The words of the operator are a person's words. The
 * words of an agent without a runner are a person's words too, because a person works with this
 * agent. There are two exceptions. First, an agent without a runner may go on working because
 * of mail. Then the agent's words have a number higher by one than the mail. Second, another
 * agent may give a command to an agent without a runner. Then the words of the agent that got
 * the command have a number higher by one than the command.
 *
 * The number of a turn is higher by one than the highest number among its messages that may
 * start turns. If one of the turn's messages has a person's words, the turn has the number
 * 1. An agent's words have the number of the agent's turn. After the agent has completed a task
 * that a person or a plan made, the agent's words have the number 0 again.
 *
 * Mail with the number limits.chain or a higher number starts no turn. So no series of turns
 * goes on forever without a person's words. If limits.chain is 0, there is no limit.
 */
#ifndef CORE_TURN_CHAIN_H
#define CORE_TURN_CHAIN_H

#include "core/agent/agent.h"
#include "core/message/message.h"

enum { CHAIN_NOTICE = 1 }; /* for cadre's notices, which are no person's words */

/* The number from which on mail starts no turn. The number is higher than CHAIN_NOTICE, so that
 * a notice starts a turn. */
int64_t chain_most(const struct call *call);

/* The maximum number of turns without a person's words that an agent may begin in an hour. */
int64_t chain_per_hour(const struct call *call);

/* The chain number of a message that the caller sends. */
int64_t chain_of(const struct call *call, const struct draft *d);

/* Stores the chain number of an agent's words. Returns 0 or negative. */
int chain_put(struct call *call, int64_t agent, int64_t chain);

/* Like chain_put(), but only if the caller is the agent `a` and `a` has no runner. The words of
 * an agent with a runner have the number of the agent's turn. Returns 0 or negative. */
int chain_follow(struct call *call, const struct agent_row *a, int64_t chain);

/* Notes that the caller makes another agent run a command. The words of the other agent get a
 * higher number than the caller's words, unless the caller's words have the number 0. Returns 0
 * or negative. */
int chain_give(struct call *call, int64_t agent);

/* Tells the lead and the operator that mail for `to` starts no turn. A team gets a second
 * message about waiting mail only after the operator has read the first message. Returns 0 or
 * negative. */
int chain_tell(struct call *call, const struct agent_row *to);

#endif
