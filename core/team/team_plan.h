/*
 * team_plan - a team as TOML text: its limits, members and tasks. All of them are checked
 * together before any of them is made.
 *
 * A task names other tasks by ids that are valid inside the plan. It names an agent or a role
 * of the team that has to claim it. Faults are at /plan, and begin with line and column:
 * `plan:12:1: `.
 */
#ifndef CORE_TEAM_TEAM_PLAN_H
#define CORE_TEAM_TEAM_PLAN_H

#include "core/call/call.h"
#include "core/config/toml.h"
#include "ops.gen.h"

/* A zeroed team_plan is an empty plan; plan_release() frees a plan. */
struct team_plan {
	struct plan says;
	const char **assignees; /* for each task; NULL: any agent */
	size_t *order; /* indexes of the tasks, each task after its dependencies */
	size_t n_order;
	struct toml_table *root; /* in the call's arena */
	json_t *json; /* holds the texts */
};

/* Reads the plan from the arguments of team.create. `whole` is a copy of the arguments; values
 * that only the plan gives are added to it. Returns 0 or a fault. */
int plan_read(struct call *call, const struct team_create_in *in, struct team_plan *p,
	      struct team_create_in *whole);
void plan_release(struct team_plan *p);

/* The place of a role among the arguments, or in the plan if the plan gives the role. */
const char *plan_role_at(struct call *call, const struct team_create_in *in, size_t role);
/* Moves a fault at a place of the plan to the line of the text. Returns the fault's code. */
int plan_blame(struct call *call, const struct team_plan *p);

/* Adds the tasks to the board of the call's team, which is new. Returns 0 or a fault. */
int plan_add_tasks(struct call *call, const struct team_plan *p);

#endif
