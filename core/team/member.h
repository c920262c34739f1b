/*
 * member - agents join a team by a role, and leave it.
 */
#ifndef CORE_TEAM_MEMBER_H
#define CORE_TEAM_MEMBER_H

#include "core/call/call.h"

/* A role needs a workspace if it asks for one, or if its backend is not `process`. */
bool member_has_place(const struct call *call, const struct role *r);

/* 0, or `invalid` below `where` for a role that says one resource both beside the others and
 * among its `resources`. */
int member_check_role(struct call *call, const struct role *r, const char *where);

/* 0, or `unavailable` at `where` without a host, who makes workspaces. */
int member_check_host(struct call *call, const char *where);

/* Adds the members of a role to the call's team, with their workspaces, which are copies of
 * `golden` as it was at `snapshot` (NULL: of nothing).  0, or a fault below `where`. */
int member_add_role(struct call *call, const struct role *r, const char *golden,
		    const char *snapshot, const char *where);

/* Fills in the tokens of members of the call's team. 0 or negative. */
int member_tell_tokens(struct call *call, struct member *members, size_t n);

#endif
