/*
 * agent - the members of a team, their cards and generations.
 */
#ifndef CORE_AGENT_AGENT_H
#define CORE_AGENT_AGENT_H

#include "core/event/event.h"
#include "ops.gen.h"

/* An agent to add; `id` is filled. */
struct newcomer {
	const char *name; /* NULL: one is picked, and filled in */
	const char *role; /* NULL: its name */
	const char *description, *project;
	const char **skills;
	size_t n_skills;
	bool is_operator; /* no member, but the operator's place */
	bool nests; /* it may make teams below its own */
	int64_t holder; /* the agent of the team above whose place it is; 0: nobody's */
	int64_t id;
};

/* Adds an agent to the call's team, with a token: 0 or a fault at `where`. */
int agent_add(struct call *call, struct newcomer *n, const char *where);

/* Begins the next generation of each lead's place in teams below that an agent holds, itself or
 * by another place: whenever its own begins, or a place comes to another holder, so that who
 * held it before leads there no more.  0 or negative. */
int agent_renew_seats(struct call *call, int64_t agent);

/* Whether the caller's token was made for a client of an agent.  Such a caller is told no
 * other token: another token would outlive the client's token. */
bool agent_is_client(const struct call *call);
/* The token of an agent's present generation, in the call's arena. */
const char *agent_token(struct call *call, const struct agent_row *a);

/* Changes an agent's card, by itself or by who leads it, and tells it: 0 or negative.  `*was`
 * (or NULL) is its name before. */
int agent_change(struct call *call, const struct agent_update_in *in, const char **was);

/* An agent's card as its rows are, as far as the answer has room; texts are the call's. */
int card_tell(struct call *call, const struct agent_row *a, struct card *card);
/* All of it, however small the answer may be. */
int card_tell_whole(struct call *call, const struct agent_row *a, struct card *card);
/* The names of the fields in which two cards differ, "description, skills"; "" for none. */
const char *card_differences(struct call *call, const struct card *a,
			     const struct card *b);
/* Where an agent is reached: `http` is borrowed.  The context id of its VM is the host's `cid`,
 * or where that is 0 in the `address` of a guest that runs by itself, or NULL. */
struct endpoints card_endpoints(const char *http, int64_t cid, const char *address);

/* The status of an agent as answers tell it: an agent that holds a task works, even if
 * its row says `ready` or `idle`. */
enum agent_status agent_status_now(int64_t status, bool holds);

/* Writes down what an agent is doing, with an event in its team if that is new: see
 * runner_rest().  0 or negative. */
int agent_say_status(struct call *call, const struct agent_row *a, int64_t status);

/* Whether a name is kept from agents and teams. */
bool agent_reserved(const char *name);

/*
 * Whether the daemons of agents make progress, as their rows tell.
 */

/* Notes that a daemon began or ended a command: the daemon is not stuck (any more). */
int agent_daemon_moves(struct call *call, const struct assignment_row *x);

/* Writes down which daemons are stuck now, and tells their leads, once each. */
int agent_daemons_settle(struct call *call);

#endif
