/*
 * team_plan - a team as TOML text: its limits, members and tasks, which are checked together before
 * any of them is made.
 *
 * Tasks name others by ids of the plan's own, and who is to claim them by an agent or a role of
 * the team.  Faults are at /plan, and begin with line and column: `plan:12:1: `.
 */
#ifndef CORE_TEAM_TEAM_PLAN_H
#define CORE_TEAM_TEAM_PLAN_H

#include "core/call/call.h"
#include "core/config/toml.h"
#include "ops.gen.h"

/* A zeroed team_plan is an empty plan; plan_release() frees a plan. */
struct team_plan {
	struct plan says;
	const char **assignees; /* of each task; NULL: anybody */
	size_t *order; /* places of the tasks, each task behind its dependencies */
	size_t n_order;
	struct toml_table *root; /* in the call's arena */
	json_t *json; /* holds the texts */
};

/* Reads the plan among the arguments of team.create, and adds to `whole`, a copy of these, what
 * it says and they do not: 0 or a fault. */
int plan_read(struct call *call, const struct team_create_in *in, struct team_plan *p,
	      struct team_create_in *whole);
void plan_release(struct team_plan *p);

/* The place of a role among the arguments; the place in the plan for a role of the
 * plan. */
const char *plan_role_at(struct call *call, const struct team_create_in *in, size_t role);
/* Moves a fault at such a place to the line of the text; returns its code. */
int plan_blame(struct call *call, const struct team_plan *p);

/* Puts the tasks on the board of the call's team, which is new.  0 or a fault. */
int plan_add_tasks(struct call *call, const struct team_plan *p);

#endif
