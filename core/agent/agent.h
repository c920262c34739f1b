/*
 * agent - the members of a team, their cards and generations.
 */
#ifndef CORE_AGENT_AGENT_H
#define CORE_AGENT_AGENT_H

#include "core/event/event.h"
#include "ops.gen.h"

/* An agent to add; agent_add() fills `id`. */
struct newcomer {
	const char *name; /* NULL: a name is picked and stored here */
	const char *role; /* NULL: the agent's name is its role */
	const char *description, *project;
	const char **skills;
	size_t n_skills;
	bool is_operator; /* the operator's place, which is not a member */
	bool nests; /* the agent may make teams below its own team */
	int64_t holder; /* the agent of the team above that holds this place; 0:
			   nobody */
	int64_t id;
};

/* Adds an agent to the call's team, with a token: 0 or a fault at `where`. */
int agent_add(struct call *call, struct newcomer *n, const char *where);

/* Begins the next generation of each lead's place that an agent holds in a team below, itself
 * or through another place. This function is called when a generation of the agent begins, or
 * when a place gets another holder. So the earlier holder no longer leads that team. Returns 0
 * or negative. */
int agent_renew_seats(struct call *call, int64_t agent);

/* Whether the caller's token was made for a client of an agent. Such a caller gets no other
 * token, because that token would outlive the client's token. */
bool agent_is_client(const struct call *call);
/* The token of an agent's present generation, in the call's arena. */
const char *agent_token(struct call *call, const struct agent_row *a);

/* Changes an agent's card, and tells the teammates. The caller is the agent or leads the agent.
 * Returns 0 or negative. `*was` is the agent's name before; `was` may be NULL. */
int agent_change(struct call *call, const struct agent_update_in *in, const char **was);

/* Fills an agent's card from its rows, as far as the answer has room. The texts belong to the
 * call. */
int card_tell(struct call *call, const struct agent_row *a, struct card *card);
/* Like card_tell(), but fills the whole card, however small the answer may be. */
int card_tell_whole(struct call *call, const struct agent_row *a, struct card *card);
/* The names of the fields in which two cards differ, such as "description, skills"; "" if the
 * cards do not differ. */
const char *card_differences(struct call *call, const struct card *a,
			     const struct card *b);
/* The endpoints of an agent. `http` is borrowed. The context id of the agent's VM is `cid`,
 * which the host knows. If `cid` is 0, the id is read from `address`. `address` is the address
 * of a guest that runs by itself, or NULL. */
struct endpoints card_endpoints(const char *http, int64_t cid, const char *address);

/* The status of an agent as answers show it. An agent that holds a task is shown as working,
 * even if its row says `ready` or `idle`. */
enum agent_status agent_status_now(int64_t status, bool holds);

/* Stores the status of an agent. If the status is new, an event is written in the agent's team;
 * see runner_rest(). Returns 0 or negative. */
int agent_say_status(struct call *call, const struct agent_row *a, int64_t status);

/* Whether a name is reserved, so that no agent or team may have it. */
bool agent_reserved(const char *name);

/*
 * Finds from the rows whether the daemons of agents make progress.
 */

/* Notes that a daemon began or ended a command. So the daemon is not stuck, or no longer stuck. */
int agent_daemon_moves(struct call *call, const struct assignment_row *x);

/* Stores which daemons are stuck now, and tells their leads once for each daemon. */
int agent_daemons_settle(struct call *call);

#endif
