/*
 * who - the team and the agents of a call, and whether the caller may reach them.
 */
#ifndef CORE_ACCESS_WHO_H
#define CORE_ACCESS_WHO_H

#include "core/call/call.h"
#include "ops.gen.h"

/* Fills call->caller from call->identity: rows, level, token.  0 or a fault. */
int who_calls(struct call *call);

/* Finds an agent by the hash of its token, in its team or in the team that had that name
 * before: 1, 0, negative. */
int who_has_token(struct call *call, const char *team, uint8_t hash[32],
		  struct caller_row *r);

/* Puts the call into the team that it names (name or id; NULL: the caller's
 * own, or the one that there is).  An agent reaches its own team only. */
int who_team(struct call *call, const char *team);

/* Puts the call into a team, by the row of any member of the team; the caller stays the
 * same. */
void who_enter(struct call *call, const struct caller_row *r);

/* Makes the caller the lead of a team that it made without one, or that it made by such a
 * place: 1, 0 where it holds none there, or negative. */
int who_take_seat(struct call *call, const char *team);
/* The same in the team above `team`: its lead changes and ends teams below it. */
int who_take_seat_above(struct call *call, const char *team);

/* The state's folder as the caller may know it; NULL for callers inside workspaces, who
 * have no choice of states. */
const char *who_home(const struct call *call);

/* who_team() for reads of the log.  If no team has the name (or id), the operator and an
 * observer of all teams reach the last team that had the name and has ended. */
int who_team_then(struct call *call, const char *team);

/* who_team(), but 0 without a fault where there is no such team, else 1. */
int who_means(struct call *call, const char *team);

/* who_team() where an address may name the team: for an operator who names none in the
 * call it is the part before the slash, whatever his environment says.  A fault of that
 * is at `where`. */
int who_team_of(struct call *call, const char *team, const char *address,
		const char *where);

/* Whether the caller is a session without an identity, which may only look and join. */
bool who_is_nobody(const struct call *call);

/* Whether the caller is the operator, who may act in all teams. */
bool who_roams(const struct call *call);

/* The living member `name` of the call's team: 0 or a fault at `where`.
 * `lead` is the team's lead, `operator` the operator's place. */
int who_agent(struct call *call, const char *name, const char *where,
	      struct agent_row *a);

/* The role that `role:NAME` or `team/role:NAME` names: 1 with `*role` set, 0 where `address`
 * is none such, or a fault at `where`. */
int who_role(struct call *call, const char *address, const char *where,
	     const char **role);

/* The living members of the call's team with a role, without `except` (0: all): 0, or
 * not_found at `where` if there are none.  Rows are in the call's arena. */
int who_with_role(struct call *call, const char *role, int64_t except, const char *where,
		  struct agent_row **rows, size_t *n);

/* who_agent(), where `role:NAME` stands for the only one who has that role. */
int who_one(struct call *call, const char *name, const char *where, struct agent_row *a);

/* The agent that the call acts for: `name`, or the caller itself when NULL.  Only the
 * lead and the operator may act for another agent.  0 or a fault at `where`. */
int who_acts(struct call *call, const char *name, const char *where, struct agent_row *a);

/* who_acts() that fills only id, team, name and generation: the caller's own row has just
 * been read, and costs no further query. */
int who_is(struct call *call, const char *name, const char *where, struct agent_row *a);

/* Whether an agent is an observer: an observer reads no inbox, and nothing is sent to an
 * observer.  A lead is no observer, whatever the lead's role. */
bool who_observes(const struct agent_row *a);

/* 0, or `invalid` for an observer, who may not be a task's assignee: it cannot claim the
 * task, and nobody else could. */
int who_may_own(struct call *call, const struct agent_row *a, const char *where);

/* Hints at whom to ask for what is for `least`, or for a caller with more power; returns
 * the fault's code. */
int who_ask(struct call *call, enum who least);

/* 0, or `denied` unless the caller is the team's lead or the operator. */
int who_leads(struct call *call, const char *where);

#endif
