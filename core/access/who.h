/*
 * who - finds the team and the agents of a call, and checks that the caller may reach the team
 * and the agents.
 */
#ifndef CORE_ACCESS_WHO_H
#define CORE_ACCESS_WHO_H

#include "core/call/call.h"
#include "ops.gen.h"

/* Fills call->caller from call->identity, and checks the token. Returns 0 or a fault. */
int who_calls(struct call *call);

/* Finds an agent by the hash of its token, in the team with that name or in the team that had
 * the name before. Returns 1 if the agent was found, 0 if it was not found, or a negative fault
 * code. */
int who_has_token(struct call *call, const char *team, uint8_t hash[32],
		  struct caller_row *r);

/* Puts the call into the team that the call names, by name or id. NULL means the caller's own
 * team, the default team, or the only team of the state. An agent reaches its own team and the
 * teams in which it holds the lead's place. Some reads also reach teams below. */
int who_team(struct call *call, const char *team);

/* Puts the call into the team of the member `r`. The call's caller stays the same. */
void who_enter(struct call *call, const struct caller_row *r);

/* Makes the caller the lead of a team in which the caller holds the lead's place. If an agent
 * makes a team without a lead, the agent holds the lead's place in that team. The same is true
 * of a team that the agent made while it held the lead's place of another team. Returns 1 if
 * the caller is the lead now, 0 if the caller holds no place in the team, or a negative fault
 * code. */
int who_take_seat(struct call *call, const char *team);
/* Does the same as who_take_seat() for the team above `team`. The lead of a team may change and
 * end the teams below. */
int who_take_seat_above(struct call *call, const char *team);

/* The path of the state's folder, if the caller may know the path. NULL for callers inside
 * workspaces or at an agent's HTTP door, who cannot choose a state. */
const char *who_home(const struct call *call);

/* Does the same as who_team(), for reads of the log. If no team has the name (or id), the
 * operator and an observer of all teams reach the last team that had the name and has ended. */
int who_team_then(struct call *call, const char *team);

/* Calls who_team(). Returns 1 if the team exists, 0 without a fault if the team does not exist,
 * or a fault. */
int who_means(struct call *call, const char *team);

/* Calls who_team() for a call in which an address (NULL: none is given) may name the team. For
 * an operator who names no team in the call, the part of the address before the slash is the
 * team, even if the environment names another team. An address without a slash means the
 * default team's agent, or else the only agent of that name. If the team in the address is
 * wrong, the fault is at `where`. */
int who_team_of(struct call *call, const char *team, const char *address,
		const char *where);

/* In a later run of the call, puts the call into the team with the row `team`. The team's name is
 * not used, because the team may be renamed by then, and another team may have the old name.
 * Returns 0 or a fault. */
int who_enter_again(struct call *call, int64_t team);

/* Whether the caller is a session without an identity. A session without an identity may read
 * and may join a team, and may do nothing else. */
bool who_is_nobody(const struct call *call);

/* Whether the caller is the operator, who may act in all teams. */
bool who_roams(const struct call *call);

/* Finds the living member `name` of the call's team. Returns 0 or a fault at `where`. The name
 * `lead` means the team's lead, `operator` the operator's place, and `self` the caller. */
int who_agent(struct call *call, const char *name, const char *where,
	      struct agent_row *a);

/* The role that `role:NAME` or `team/role:NAME` names. Returns 1 with `*role` set, 0 if
 * `address` names no role, or a fault at `where`. */
int who_role(struct call *call, const char *address, const char *where,
	     const char **role);

/* Finds the living members of the call's team that have the role `role`, except the agent
 * `except` (0: no agent is left out). Returns 0, or not_found at `where` if no member has the
 * role. The rows are in the call's arena. */
int who_with_role(struct call *call, const char *role, int64_t except, const char *where,
		  struct agent_row **rows, size_t *n);

/* Calls who_agent(). `role:NAME` may stand for the only member with that role. */
int who_one(struct call *call, const char *name, const char *where, struct agent_row *a);

/* Finds the agent for which the call acts: the agent `name`, or the caller if `name` is NULL.
 * Only the lead and the operator may act for another agent. Returns 0 or a fault at `where`. */
int who_acts(struct call *call, const char *name, const char *where, struct agent_row *a);

/* Does the same as who_acts(), but fills only id, team, name and generation. The caller's own
 * row has been read already and needs no further query. */
int who_is(struct call *call, const char *name, const char *where, struct agent_row *a);

/* Whether an agent is an observer: an observer reads no inbox, and nothing is sent to an
 * observer. A lead is no observer, whatever the lead's role is. */
bool who_observes(const struct agent_row *a);

/* Returns 0, or `invalid` for an observer. An observer may not be a task's assignee: the
 * observer cannot claim the task, and no other agent could claim the task. */
int who_may_own(struct call *call, const struct agent_row *a, const char *where);

/* Adds a hint for an operation that needs at least the level `least`. The hint says whom the
 * caller can ask. Returns the fault's code. */
int who_ask(struct call *call, enum who least);

/* Returns 0 if the caller is the team's lead or the operator, else `denied`. The fault says that
 * only they and the `others`, such as "the task's creator", may do `what`. */
int who_leads(struct call *call, const char *where, const char *others, const char *what);

#endif
