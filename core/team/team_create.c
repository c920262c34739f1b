/* team_create - makes a team: its row, its members and their workspaces. */
#include <string.h>

#include "core/access/who.h"
#include "core/agent/agent.h"
#include "core/call/id.h"
#include "core/team/budget.h"
#include "core/team/estop.h"
#include "core/team/member.h"
#include "core/team/team_plan.h"
#include "core/team/team.h"

static int64_t places(const struct call *call, const struct team_create_in *in)
{
	int64_t n = 0;

	for (size_t i = 0; i < in->n_roles; i++)
		if (member_has_place(call, &in->roles[i]))
			n += in->roles[i].count;
	return n;
}

/* The limits that the team asks for.  By default, a team below another team asks for as
 * many workspaces as its roles need, and for the policy of the team above. */
static struct team_wish wish_of(const struct call *call, const struct team_create_in *in,
				const struct team_row *above)
{
	struct team_wish wish = {
		.max_vms = above ? places(call, in) : call->settings->config.team_max_vms,
		.allow_internet = above && above->allow_internet,
		.allow_inter_vm = !above || above->allow_inter_vm,
	};

	if (in->has_max_vms)
		wish.max_vms = in->max_vms;
	if (in->has_allow_internet)
		wish.allow_internet = in->allow_internet;
	if (in->has_allow_inter_vm)
		wish.allow_inter_vm = in->allow_inter_vm;
	return wish;
}

static int check_places(struct call *call, const struct team_create_in *in,
			int64_t max_vms)
{
	const struct config *c = &call->settings->config;
	struct vms_all_row all;
	int64_t want = places(call, in);
	int rc;

	if (want == 0)
		return 0;
	if ((rc = member_check_host(call, "/roles")) < 0 ||
	    (rc = sql_row(call, vms_all, &all, .host = store_host(call->store))) < 0)
		return rc;
	if (want > max_vms)
		return fault_set(&call->fault, FAULT_EXHAUSTED, "/roles",
				 "%d workspaces are more than max_vms (%d)", (int)want,
				 (int)max_vms);
	if (want > c->limits_max_vms_per_team)
		return fault_set(&call->fault, FAULT_EXHAUSTED, "/roles",
				 "%d workspaces are more than limits.max_vms_per_team "
				 "(%d)",
				 (int)want, (int)c->limits_max_vms_per_team);
	if (all.n + want > c->limits_max_total_vms)
		return fault_set(&call->fault, FAULT_EXHAUSTED, "/roles",
				 "the host has %d of %d workspaces "
				 "(limits.max_total_vms)",
				 (int)all.n, (int)c->limits_max_total_vms);
	return 0;
}

/* A team has a lead: when no role is the lead, the caller who makes the team becomes
 * it. */
static int add_lead(struct call *call)
{
	struct newcomer n = { .name = "lead",
			      .role = "lead",
			      .description = "",
			      .holder = call->identity.agent ? call->caller.agent : 0 };
	struct team_lead_row lead;
	int rc = sql_row(call, team_lead, &lead, .team = call->caller.team);

	return rc ? rc : agent_add(call, &n, "/roles");
}

/* Puts the call into the new team, in which the operator has a place.  An agent who makes a
 * team below its own stays who it is. */
static int team_create_enter(struct call *call, const char *name, int64_t capacity)
{
	struct newcomer operator= { .name = "operator",
				    .role = "operator",
				    .description = "",
				    .is_operator = true };
	int rc;

	call->caller.team = call->made;
	call->caller.team_name = name;
	call->caller.inbox_capacity = capacity;
	if ((rc = sql_run(call, board_add, .team = call->made)) < 0 ||
	    (rc = agent_add(call, &operator, "/name")) < 0)
		return rc;
	if (!call->identity.agent)
		call->caller.agent = operator.id;
	return event_emit(call, EVENT_TEAM_CREATED, call->made, 0, NULL);
}

static int check_roles(struct call *call, const struct team_create_in *said,
		       const struct team_create_in *in, const struct team_plan *plan)
{
	for (size_t i = 0; i < in->n_roles; i++)
		if (member_check_role(call, &in->roles[i], plan_role_at(call, said, i)) <
		    0)
			return plan_blame(call, plan);
	return 0;
}

/* Makes the members: first the members that the call says itself, then the members of its
 * plan. */
static int add_members(struct call *call, const struct team_create_in *said,
		       const struct team_create_in *in, const struct team_plan *plan)
{
	for (size_t i = 0; i < in->n_roles; i++)
		if (member_add_role(call, &in->roles[i], in->golden, in->snapshot,
				    plan_role_at(call, said, i)) < 0)
			return plan_blame(call, plan);
	return add_lead(call);
}

static int create(struct call *call, const struct team_create_in *in,
		  const struct team_row *above, const struct team_wish *wish)
{
	int64_t capacity = in->has_inbox_capacity ? in->inbox_capacity
						  : call->settings->config.inbox_capacity;
	int64_t id = sql_new_id(call, team);
	struct team_taken_row taken;
	int rc;

	if (id < 0)
		return call->fault.code;
	rc = sql_run(call, team_add, .id = id, .name = in->name,
		     .above = above ? above->id : 0,
		     .max_depth = call->settings->config.limits_max_nesting_depth,
		     .created_by = call->identity.agent ? call->caller.agent : 0,
		     .now = call->now, .inbox_capacity = capacity,
		     .max_vms = wish->max_vms, .allow_internet = wish->allow_internet,
		     .allow_inter_vm = wish->allow_inter_vm);
	if (rc == 0 && (rc = sql_row(call, team_taken, &taken, .name = in->name)) >= 0)
		return rc || !above ? team_name_taken(call, in->name, "/name")
				    : team_above_refuses(call, above, wish);
	if (rc < 0)
		return rc;
	call->made = id;
	if ((rc = team_create_enter(call, in->name, capacity)) < 0 ||
	    (rc = budget_open(call, id, above ? above->id : 0, budget_wish_of(in))) < 0)
		return rc;
	return team_add_ports(call, above ? above->id : 0, in->allowed_ports,
			      in->n_allowed_ports);
}

/* Makes a team, below another one or none. */
static int make_as(struct call *call, const struct team_create_in *said,
		   const struct team_create_in *in, const struct team_plan *plan)
{
	const struct team_row *above;
	struct team_wish wish;
	int rc;

	if ((rc = check_roles(call, said, in, plan)) < 0 ||
	    (rc = team_above(call, in->parent, &above)) < 0 ||
	    (above && ((rc = estop_check(call, "/parent")) < 0 ||
		       (rc = budget_check(call, above->id, "/parent")) < 0)))
		return rc;
	wish = wish_of(call, in, above);
	if ((rc = check_places(call, in, wish.max_vms)) < 0 ||
	    (rc = create(call, in, above, &wish)) < 0 ||
	    (rc = add_members(call, said, in, plan)) < 0 ||
	    (rc = plan_add_tasks(call, plan)) < 0)
		return rc;
	return team_announce(call, call->made);
}

static int team_create_make(struct call *call, const struct team_create_in *said)
{
	struct team_create_in in;
	struct team_plan plan;
	int rc = plan_read(call, said, &plan, &in);

	if (rc >= 0)
		rc = make_as(call, said, &in, &plan);
	plan_release(&plan);
	return rc;
}

int team_create(struct call *call, const struct team_create_in *in,
		struct team_create_out *out)
{
	struct team_names_row *names = NULL;
	struct team_tasks_row tasks;
	struct team_state_row s;
	struct team_row t, above;
	bool more = false;
	size_t n_names;
	int rc;

	if ((rc = team_check_name(call, in->name, "/name")) < 0 ||
	    (!call->made && (rc = team_create_make(call, in)) < 0) ||
	    (rc = sql_row(call, team_by_id, &t, .id = call->made)) < 0 ||
	    (rc = sql_row(call, team_state, &s, .team = t.id, .now = call->now)) < 0 ||
	    (rc = sql_row(call, team_tasks, &tasks, .team = t.id)) < 0)
		return rc;
	call->caller.team = t.id;
	call->caller.team_name = t.name;
	out->team_id = id_public(call, ID_TEAM, t.id, t.created_at);
	out->name = t.name;
	if (t.parent && (rc = sql_row(call, team_by_id, &above, .id = t.parent)) < 0)
		return rc;
	out->parent = t.parent ? above.name : NULL;
	out->state = s.now_state;
	out->tasks = tasks.n;
	if ((rc = team_tell_members(call, t.destroyed_at != 0, 0, &out->members,
				    &out->n_members, &more)) < 0)
		return rc;
	if (more)
		return fault_set(&call->fault, FAULT_INVALID, "/roles",
				 "the answer has no room for all members' tokens");
	if (sql_all(call, team_names, &names, &n_names, .limit = 2) < 0)
		return call->fault.code;
	out->has_several = out->several = n_names > 1;
	return member_tell_tokens(call, out->members, out->n_members);
}
