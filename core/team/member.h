/*
 * member - lets agents join a team by a role, and leave the team.
 */
#ifndef CORE_TEAM_MEMBER_H
#define CORE_TEAM_MEMBER_H

#include "core/call/call.h"

/* Whether the members of a role need a workspace, because the role asks for a workspace or has
 * another backend than `process`. */
bool member_has_place(const struct call *call, const struct role *r);

/* Returns 0, or `invalid` below `where` if a role gives a resource twice, by an argument and
 * among its `resources`. */
int member_check_role(struct call *call, const struct role *r, const char *where);

/* Returns 0, or `unavailable` at `where` if no host runs, because only a host makes workspaces. */
int member_check_host(struct call *call, const char *where);

/* Adds the members of a role to the call's team, with their workspaces. The workspaces are
 * copies of `golden` at the snapshot `snapshot`. If `golden` is NULL, the workspaces are empty.
 * Returns 0, or a fault below `where`. */
int member_add_role(struct call *call, const struct role *r, const char *golden,
		    const char *snapshot, const char *where);

/* Fills in the tokens of members of the call's team. Returns 0 or negative. */
int member_tell_tokens(struct call *call, struct member *members, size_t n);

#endif
