/*
 * budget - limits on the tokens, money, time and messages that a team may spend: they are
 * reserved from those of the team above, and spending is counted and told.
 *
 * Each team has a row of each kind, with the team's limit (0: none) and its use so far.
 * Below a team with a limit every team has a limit.  The teams above have reserved that
 * limit already, so a team spends without asking the teams above.  Workspaces are counted
 * with the members (team_counts).
 */
#ifndef CORE_TEAM_BUDGET_H
#define CORE_TEAM_BUDGET_H

#include "core/call/call.h"
#include "ops.gen.h"

enum { BUDGET_KINDS = BUDGET_KIND_MESSAGES + 1 };

/* The limits that a call asks for, by enum budget_kind; that on workspaces is not among them. */
struct budget_wish {
	bool said[BUDGET_KINDS];
	int64_t most[BUDGET_KINDS];
};

/* The limits among the arguments of team.create and team.update. */
#define budget_wish_of(in)                                                   \
	(&(const struct budget_wish){                                        \
		.said = { [BUDGET_KIND_TOKENS] = (in)->has_max_tokens,       \
			  [BUDGET_KIND_COST] = (in)->has_max_cost,           \
			  [BUDGET_KIND_SECONDS] = (in)->has_max_seconds,     \
			  [BUDGET_KIND_MESSAGES] = (in)->has_max_messages }, \
		.most = { [BUDGET_KIND_TOKENS] = (in)->max_tokens,           \
			  [BUDGET_KIND_COST] = (in)->max_cost,               \
			  [BUDGET_KIND_SECONDS] = (in)->max_seconds,         \
			  [BUDGET_KIND_MESSAGES] = (in)->max_messages } })

/* Gives a team that was just made its budgets, out of what the team above it (0: none) has
 * left.  0, or exhausted at the argument. */
int budget_open(struct call *call, int64_t team, int64_t above,
		const struct budget_wish *wish);

/* Counts anew what a team (0: none) has left to the living teams below it, workspaces and all:
 * one of them was made, has ended, or has other limits.  0 or negative. */
int budget_reserve(struct call *call, int64_t team);

/* Changes those of a team's limits that are said.  0, or exhausted or conflict at the
 * argument. */
int budget_change(struct call *call, int64_t team, const struct budget_wish *wish);

/* A team's limits, by enum budget_kind; 0: none. 0 or negative. */
int budget_limits(struct call *call, int64_t team, int64_t most[BUDGET_KINDS]);

/* Stops the clock of a team that ends, and counts what it has used in the team above it. */
int budget_close(struct call *call, int64_t team);

/* 0, or exhausted at `where` if nothing is left of a budget of the team: then it gets no new
 * claims, assignments, members and teams below it. */
int budget_check(struct call *call, int64_t team, const char *where);

/* Counts a message that an agent of the call's team sends, and announces, as without a host nobody
 * else may tell of time that is over.  0, or exhausted at /to. */
int budget_take_message(struct call *call);

/* Counts what an agent of the call's team has spent, with its event; `out` says what teams
 * above spend of it.  0 or negative. */
int budget_count(struct call *call, const struct team_usage_in *in, int64_t agent,
		 struct team_usage_out *out);

/* budget_announce() of all teams whose time is limited. */
int budget_settle(struct call *call);

/* The budgets of several teams, as an answer lists them. */
struct budget_list {
	struct budget_line *lines; /* in the call's arena */
	size_t n;
	int64_t skip; /* so many lines are left out yet */
	bool all; /* workspaces too, and what is spent without a limit; else only limits */
	bool full; /* the answer has no room for more */
};

/* Adds the budgets of a team, which is called `path` there.  0 or negative. */
int budget_list_add(struct call *call, int64_t team, const char *path, int64_t max_vms,
		    struct budget_list *list);

#endif
