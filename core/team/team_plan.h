/*
 * team_plan - the plan of a team as TOML text, with limits, members and tasks. The whole plan
 * is checked before any part of the team is made.
 *
 * A task names other tasks by ids that are valid inside the plan. A task can also name the
 * agent or the role that has to claim the task. Faults are at /plan, and their texts begin with
 * line and column, as in `plan:12:1`.
 */
#ifndef CORE_TEAM_TEAM_PLAN_H
#define CORE_TEAM_TEAM_PLAN_H

#include "core/call/call.h"
#include "core/config/toml.h"
#include "ops.gen.h"

/* A zeroed team_plan is an empty plan. plan_release() frees a plan. */
struct team_plan {
	struct plan says;
	const char **assignees; /* assignee of each task; NULL: any agent */
	size_t *order; /* indexes of tasks, each task after its dependencies */
	size_t n_order;
	struct toml_table *root; /* in the call's arena */
	json_t *json; /* owner of the plan's texts */
};

/* Reads the plan from the arguments of team.create. `whole` gets the arguments, and the values
 * that only the plan gives. Returns 0 or a fault. */
int plan_read(struct call *call, const struct team_create_in *in, struct team_plan *p,
	      struct team_create_in *whole);
void plan_release(struct team_plan *p);

/* Returns the JSON pointer to a role, in the arguments or in the plan. */
const char *plan_role_at(struct call *call, const struct team_create_in *in, size_t role);
/* Changes a fault that names a place of the plan, so that the fault names the line of the text.
 * Returns the fault's code. */
int plan_blame(struct call *call, const struct team_plan *p);

/* Adds the plan's tasks to the board of the call's team, which is new. Returns 0 or a fault. */
int plan_add_tasks(struct call *call, const struct team_plan *p);

#endif
