/*
 * budget - limits on the tokens, money, time and messages that a team may spend. They are
 * reserved from the limits of the team above. Spending is counted and announced.
 *
 * Each team has a row for each kind, with the team's limit (0: no limit) and its use so far.
 * Below a team with a limit every team has a limit. The teams above have reserved that limit
 * already, so a team spends without asking the teams above. Workspaces are counted together
 * with the members (team_counts).
 */
#ifndef CORE_TEAM_BUDGET_H
#define CORE_TEAM_BUDGET_H

#include "core/call/call.h"
#include "ops.gen.h"

enum { BUDGET_KINDS = BUDGET_KIND_MESSAGES + 1 };

/* The limits that a call asks for, by enum budget_kind. The limit on workspaces is not
 * included. */
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

/* Gives a new team its budgets, out of the rest of the budgets of the team above (0: no team
 * above). Returns 0, or exhausted at the argument. */
int budget_open(struct call *call, int64_t team, int64_t above,
		const struct budget_wish *wish);

/* Counts again how much of its limits a team (0: no team) has reserved for the living teams
 * below it, workspaces included. Called when a team below was made, has ended, or has other
 * limits. Returns 0 or negative. */
int budget_reserve(struct call *call, int64_t team);

/* Changes the limits that the call gives. Returns 0, or exhausted or conflict at the argument. */
int budget_change(struct call *call, int64_t team, const struct budget_wish *wish);

/* Reads a team's limits, by enum budget_kind; 0: no limit. Returns 0 or negative. */
int budget_limits(struct call *call, int64_t team, int64_t most[BUDGET_KINDS]);

/* Stops the clock of a team that ends, and counts the team's use in the team above. */
int budget_close(struct call *call, int64_t team);

/* Returns 0, or exhausted at `where` if a budget of the team is used up. Such a team gets no
 * new claims, assignments, members and teams below it. */
int budget_check(struct call *call, int64_t team, const char *where);

/* Counts a message that an agent of the call's team sends. Also announces budgets, because
 * without a host nobody else may announce that a budget of time is used up. Returns 0, or
 * exhausted at /to. */
int budget_take_message(struct call *call);

/* Counts the spending of an agent of the call's team, with its event. `out` gets the part that
 * is counted in the teams above. Returns 0 or negative. */
int budget_count(struct call *call, const struct team_usage_in *in, int64_t agent,
		 struct team_usage_out *out);

/* Calls budget_announce() for all teams with a limit of time. */
int budget_settle(struct call *call);

/* The budgets of several teams, as an answer lists them. */
struct budget_list {
	struct budget_line *lines; /* in the call's arena */
	size_t n;
	int64_t skip; /* number of lines still to leave out */
	bool all; /* also workspaces, and spending without a limit; else only limits */
	bool full; /* the answer has no room for more */
};

/* Adds the budgets of a team. `path` is the team's name in the answer. Returns 0 or negative. */
int budget_list_add(struct call *call, int64_t team, const char *path, int64_t max_vms,
		    struct budget_list *list);

#endif
