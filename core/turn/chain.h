/*
 * chain - how many turns lie between a message and the last word of a person.
 *
 * A person's words are at 0: those of the operator, and of an agent without a runner, for a person
 * sits there, unless it was mail that made its client go on.  A turn is one further than the
 * furthest of its messages that may start turns, or at 1 where a person's word is among them; an
 * agent's words are where its turn is, or at 0 again once it completed a task that a person or a
 * plan made.  Mail at limits.chain starts no turn, so that each person's word leads to an end.
 */
#ifndef CORE_TURN_CHAIN_H
#define CORE_TURN_CHAIN_H

#include "core/agent.h"
#include "core/message/message.h"

enum { CHAIN_NOTICE = 1 }; /* of what cadre itself tells: no person says it */

/* The chain at which mail starts no turn. */
int64_t chain_most(const struct call *call);

/* How many turns an agent may begin in an hour without a person's word. */
int64_t chain_per_hour(const struct call *call);

/* The chain of a message that the caller sends. */
int64_t chain_of(const struct call *call, const struct draft *d);

/* Notes where the words of an agent are. 0 or negative. */
int chain_put(struct call *call, int64_t agent, int64_t chain);

/* Notes where the words of an agent are that got `n` messages: further than these where they made
 * its client go on (`led`), else at 0; those of an agent with a runner are where its turn is.
 * 0 or negative. */
int chain_follow(struct call *call, const struct agent_row *a, const struct envelope *all,
		 size_t n, bool led);

/* Tells the lead and the operator that mail for `to` starts no turn, once until the operator has
 * read so. 0 or negative. */
int chain_tell(struct call *call, const struct agent_row *to);

#endif
