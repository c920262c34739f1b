/*
 * chain - how many turns lie between a message and the last word of a person.
 *
 * A person's words are at 0.  Such are the words of the operator, and of an agent without a
 * runner, where a person works.  But if mail made the client of such an agent go on, or another
 * agent gave it a command, the agent's words are one further than that mail or command.  A turn is
 * one further than the furthest of its messages that may start turns, or at 1 with a person's word
 * among them.  An agent's words are where its turn is, or at 0
 * again once the agent has completed a task that a person or a plan made.
 *
 * Mail at limits.chain starts no turn.  So what follows from a person's word ends.
 */
#ifndef CORE_TURN_CHAIN_H
#define CORE_TURN_CHAIN_H

#include "core/agent/agent.h"
#include "core/message/message.h"

enum { CHAIN_NOTICE = 1 }; /* of a notice of cadre's own, which is no person's word */

/* The chain at which mail starts no turn: more than CHAIN_NOTICE, so that a notice starts one. */
int64_t chain_most(const struct call *call);

/* How many turns an agent may begin in an hour without a person's word. */
int64_t chain_per_hour(const struct call *call);

/* The chain of a message that the caller sends. */
int64_t chain_of(const struct call *call, const struct draft *d);

/* Notes where the words of an agent are. 0 or negative. */
int chain_put(struct call *call, int64_t agent, int64_t chain);

/* The same for the caller, where the caller is the agent `a` and has no runner: the words of one with
 * a runner are where its turn is. 0 or negative. */
int chain_follow(struct call *call, const struct agent_row *a, int64_t chain);

/* Notes that the caller runs a command as another agent: the words of that agent are
 * further in the chain than the caller's words.  0 or negative. */
int chain_give(struct call *call, int64_t agent);

/* Tells the lead and the operator that mail for `to` starts no turn: once for the team, until the
 * operator has read that. 0 or negative. */
int chain_tell(struct call *call, const struct agent_row *to);

#endif
