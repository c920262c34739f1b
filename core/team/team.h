/*
 * team - a named group with a state that is computed from its rows.
 */
#ifndef CORE_TEAM_TEAM_H
#define CORE_TEAM_TEAM_H

#include "core/event/event.h"

/* Computes the team's state, and emits team.state when the state differs from the last
 * announced state.  Every operation that may change the state calls team_announce() at
 * its end.  0 or negative. */
int team_announce(struct call *call, int64_t team);

enum { TEAM_WAY = 65 }; /* teams stand no deeper: limits.max_nesting_depth */

/* A walk through the teams below one, each behind the one above it, by their names. */
struct team_walk {
	int64_t root; /* 0: all teams */
	const char *path; /* how the root is called; NULL: not at all */
	bool all; /* also those that are over */
	size_t depth; /* of the way to the team where the walk is */
	struct team_place {
		struct team_line_row team;
		const char *path; /* the names down to it */
	} way[TEAM_WAY], *at;
};

/* Goes on to the next team, which is then `at`: 1, 0 at the end, or negative. */
int team_walk_next(struct call *call, struct team_walk *w);

/* The lines of team.list, of one team with those below it or (0) all, as many as fit the answer,
 * and how many guests these teams have.  0 or negative. */
int team_lines(struct call *call, const struct team_list_in *in, int64_t team,
	       struct team_list_out *out, int64_t *guests);

/* The members of the caller's team behind `after` (0: from the first on), as many as fit the
 * answer; `gone`: those of a team that has ended; `*more` is set when some are left.  0 or
 * negative. */
int team_tell_members(struct call *call, bool gone, int64_t after, struct member **out,
		      size_t *n, bool *more);

/* Moves an agent's call into a team directly below the agent's own team, by name, if the agent
 * leads its own team or has made the team below.  The caller stays the same agent.  1, 0 where
 * there is no such team, or negative. */
int team_enter_below(struct call *call, const char *name);

/* The limits and policy that a new team, or one that is changed, asks the team above it for. */
struct team_wish {
	int64_t max_vms;
	bool allow_internet, allow_inter_vm;
	int64_t port; /* 0: none */
};

/* The name that the team has now which was called `was`; `*now` is NULL where none is called
 * otherwise.  0 or negative. */
int team_name_now(struct call *call, const char *was, const char **now);

/* Checks that a team still has a lead after a change of its member `a`.  `*lead` becomes the lead
 * (`lead` may be NULL).  0, or conflict at `where` if nobody leads the team now. */
int team_keep_lead(struct call *call, const struct agent_row *a, const char *where,
		   int64_t *lead);

/* Sends a text from the operator's place in the call's team to the lead and to that place.  0
 * or negative. */
int team_notice(struct call *call, const char *type, const char *text);

/* The same in any team, of another chain than CHAIN_NOTICE (core/turn/chain.h). */
int team_tell(struct call *call, int64_t team, const char *type, const char *text,
	      int64_t chain);

/* Refuses a name that no team may have. 0 or negative. */
int team_check_name(struct call *call, const char *name, const char *where);

#endif
