/*
 * budget - limits on the tokens, money, time and messages that a team may spend. A team's
 * limits are reserved from the limits of the team above. Spending is counted and announced.
 *
 * Each team has a row for each kind of budget, with the team's limit and the team's spending so
 * far. A limit of 0 means that there is no limit. Below a team with a limit, every team has a
 * limit. A team's limit is already reserved in the team above, so a team spends without asking
 * the teams above. Workspaces are counted together with the members (team_counts).
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

/* The limits that the arguments of team.create or team.update give. */
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

/* Gives a new team its budgets. If `above` is not 0, the new budgets are reserved from what is
 * left of the budgets of the team `above`. Returns 0, or exhausted at the argument. */
int budget_open(struct call *call, int64_t team, int64_t above,
		const struct budget_wish *wish);

/* Counts again how much of a team's limits is reserved for the living teams below, workspaces
 * included. If `team` is 0, nothing changes. Must be called after a team below was made, has
 * ended, or got other limits. Returns 0 or negative. */
int budget_reserve(struct call *call, int64_t team);

/* Changes the limits that the call gives. Returns 0, or exhausted or conflict at the argument. */
int budget_change(struct call *call, int64_t team, const struct budget_wish *wish);

/* Reads a team's limits into `most`, by enum budget_kind. A limit of 0 means that there is no
 * limit. Returns 0 or negative. */
int budget_limits(struct call *call, int64_t team, int64_t most[BUDGET_KINDS]);

/* Stops the time budget of a team that ends, and counts the ended team's spending in the team
 * above. */
int budget_close(struct call *call, int64_t team);

/* Returns 0, or exhausted at `where` if a budget of the team is used up. A team whose budget is
 * used up gets no new claims, no assignments, no members, and no teams below it. */
int budget_check(struct call *call, int64_t team, const char *where);

/* Counts a message that an agent of the call's team sends. Also announces budgets, because
 * without a host nothing else announces that a budget of time is used up. Returns 0, or
 * exhausted at /to. */
int budget_take_message(struct call *call);

/* Counts spending by an agent of the call's team, and writes the event. `out` gets the part of
 * the spending that is counted in teams above. Returns 0 or negative. */
int budget_count(struct call *call, const struct team_usage_in *in, int64_t agent,
		 struct team_usage_out *out);

/* Calls budget_announce() for every team with a limit of time. */
int budget_settle(struct call *call);

/* The budgets of several teams, as an answer lists them. */
struct budget_list {
	struct budget_line *lines; /* in the call's arena */
	size_t n;
	int64_t skip; /* number of lines that are still to be skipped */
	bool all; /* also list workspaces, and spending without a limit */
	bool full; /* the answer has no room for more lines */
};

/* Adds the budgets of a team to the list. `path` is the team's name in the answer. Returns 0 or
 * negative. */
int budget_list_add(struct call *call, int64_t team, const char *path, int64_t max_vms,
		    struct budget_list *list);

#endif
