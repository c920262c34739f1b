/*
 * team - a named group of agents, with a state that is computed from its rows.
 */
#ifndef CORE_TEAM_TEAM_H
#define CORE_TEAM_TEAM_H

#include "core/event/event.h"

/* Computes the team's state, and emits team.state if the state differs from the last announced
 * state. Every operation that may change the state calls team_announce() at its end. Returns 0
 * or negative. */
int team_announce(struct call *call, int64_t team);

enum { TEAM_WAY = 65 }; /* maximum number of levels of teams (limits.max_nesting_depth) */

/* A walk through the teams below a team. Each team comes after the parent team. Teams with the
 * same parent are sorted by name. */
struct team_walk {
	int64_t root; /* 0: all teams */
	const char *path; /* path of the root; NULL: paths leave out the root */
	bool all; /* include teams that have ended */
	size_t depth; /* number of teams in `way`, the current team included */
	struct team_place {
		struct team_line_row team;
		const char *path; /* names of the teams on the way to this team */
	} way[TEAM_WAY], *at;
};

/* Moves to the next team and sets `at` to this team. Returns 1 if there is a next team, 0 at
 * the end of the walk, or a negative fault code. */
int team_walk_next(struct call *call, struct team_walk *w);

/* Fills the lines of team.list with the team `team` and the teams below, or with all teams if
 * `team` is 0. Lists as many teams as fit the answer. With `guests`, counts the guests of these
 * teams, and each line also has the counts of the team's board. Returns 0 or negative. */
int team_lines(struct call *call, const struct team_list_in *in, int64_t team,
	       struct team_list_out *out, int64_t *guests);

/* Lists the members of the caller's team after the row `after`, as many as fit the answer. If
 * `after` is 0, the list begins with the first member. If `gone` is set, lists the members of a
 * team that has ended. `*more` is set if some members are left. Returns 0 or negative. */
int team_tell_members(struct call *call, bool gone, int64_t after, struct member **out,
		      size_t *n, bool *more);

/* Sets the caller's team to the team `name`, which must be directly below the agent's own team.
 * The agent must lead its own team, or must have made the team below. The agent stays the
 * caller. Returns 1 if the caller's team was set, 0 if there is no such team, or a negative
 * fault code. */
int team_enter_below(struct call *call, const char *name);

/* The limits and policy that a new or changed team asks for from the team above. */
struct team_wish {
	int64_t max_vms;
	bool allow_internet, allow_inter_vm;
	int64_t port; /* 0: no port */
};

/* Finds the present name of the team that once had the name `was`. `*now` is NULL if no team
 * was renamed from `was`. Returns 0 or negative. */
int team_name_now(struct call *call, const char *was, const char **now);

/* Checks that a team still has a lead after a change of its member `a`. Sets `*lead` to the
 * lead (`lead` may be NULL). Returns 0, or conflict at `where` if nobody leads the team now. */
int team_keep_lead(struct call *call, const struct agent_row *a, const char *where,
		   int64_t *lead);

/* Sends a text to the lead of the call's team and to the operator's place in the team. The
 * sender is the operator's place. Returns 0 or negative. */
int team_notice(struct call *call, const char *type, const char *text);

/* Like team_notice(), but in the team `team`, and with the chain `chain` instead of
 * CHAIN_NOTICE (core/turn/chain.h). */
int team_tell(struct call *call, int64_t team, const char *type, const char *text,
	      int64_t chain);

/* Refuses a reserved name, which no team may have. Returns 0, or a fault at `where`. */
int team_check_name(struct call *call, const char *name, const char *where);

#endif
