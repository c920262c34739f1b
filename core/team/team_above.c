/* team_above - the team above a new or changed one decides who makes it, how deep, with which
 * workspaces and policy. */
#include <inttypes.h>

#include "core/access/who.h"
#include "core/team/team.h"

/* Whether the caller may make teams below its own: its lead, and members whose role says so. */
static int check_maker(struct call *call)
{
	struct agent_nests_row r;
	int rc;

	if (call->caller.level >= WHO_LEAD)
		return 0;
	rc = sql_row(call, agent_nests, &r, .agent = call->caller.agent);
	if (rc < 0 || (rc > 0 && r.nests && call->caller.level >= WHO_MEMBER))
		return rc < 0 ? rc : 0;
	fault_set(&call->fault, FAULT_DENIED, "/parent",
		  "only the lead of team %s, or a member whose role nests, makes a team "
		  "below it",
		  call->caller.team_name);
	return who_ask(call, WHO_LEAD);
}

int team_above(struct call *call, const char *parent, const struct team_row **above)
{
	struct team_row *t;
	int rc;

	*above = NULL;
	if (!parent && !call->identity.agent)
		return 0;
	if ((rc = who_team(call, parent)) < 0)
		return fault_move(&call->fault, "/team", "/parent");
	if ((rc = check_maker(call)) < 0)
		return rc;
	t = arena_alloc(&call->arena, sizeof(*t));
	rc = sql_row(call, team_by_id, t, .id = call->caller.team);
	*above = t;
	return rc < 0 ? rc : 0;
}

int team_enter_below(struct call *call, const char *name)
{
	struct team_below_row below;
	struct caller_row r;
	int rc;

	if (!call->identity.agent)
		return 0;
	if (who_take_seat_above(call, name) < 0)
		return call->fault.code;
	rc = sql_row(call, team_below, &below, .team = call->caller.team, .name = name,
		     .leads = call->caller.level >= WHO_LEAD,
		     .agent = call->caller.agent);
	if (rc <= 0 || (rc = sql_row(call, caller_by_team, &r, .team = below.id,
				     .name = "operator")) <= 0)
		return rc;
	who_enter(call, &r);
	return 1;
}

static int team_above_too_deep(struct call *call, const struct team_row *above)
{
	fault_set(&call->fault, FAULT_EXHAUSTED, "/parent",
		  "team %s has %" PRId64 " teams above it: none is made below it "
		  "(limits.max_nesting_depth)",
		  above->name, above->depth);
	return fault_hint(&call->fault, "Make it below a higher team.");
}

int team_check_policy(struct call *call, int64_t team, const struct team_wish *wish)
{
	struct team_policy_bar_row bar;
	const char *where = wish->port             ? "/allowed_ports"
			    : wish->allow_internet ? "/allow_internet"
						   : "/allow_inter_vm";
	int rc = sql_row(call, team_policy_bar, &bar, .team = team, .port = wish->port,
			 .allow_internet = wish->allow_internet,
			 .allow_inter_vm = wish->allow_inter_vm);

	if (rc <= 0)
		return rc;
	if (wish->port)
		fault_set(&call->fault, FAULT_DENIED, where,
			  "team %s does not allow port %" PRId64, bar.name, wish->port);
	else
		fault_set(&call->fault, FAULT_DENIED, where, "team %s does not allow %s",
			  bar.name,
			  wish->allow_internet ? "the internet"
					       : "its VMs to reach each other");
	return fault_hint(
		&call->fault,
		"A team below another narrows its policy, and never widens it.");
}

int team_add_ports(struct call *call, int64_t above, const int64_t *ports, size_t n)
{
	int rc = 1;

	for (size_t i = 0; i < n && rc > 0; i++) {
		const struct team_wish wish = { .port = ports[i] };

		rc = sql_run(call, team_port_add, .team = call->made, .port = wish.port);
		if (rc == 0)
			return team_check_policy(call, above, &wish);
	}
	return rc < 0 ? rc : 0;
}

int team_above_refuses(struct call *call, const struct team_row *above,
		       const struct team_wish *wish)
{
	const struct team_wish internet = { .allow_internet = wish->allow_internet },
			       inter_vm = { .allow_inter_vm = wish->allow_inter_vm };
	struct team_counts_row vms;
	int rc;

	if (above->depth >= call->settings->config.limits_max_nesting_depth)
		return team_above_too_deep(call, above);
	if ((rc = team_check_policy(call, above->id, &internet)) < 0 ||
	    (rc = team_check_policy(call, above->id, &inter_vm)) < 0 ||
	    (rc = sql_row(call, team_counts, &vms, .team = above->id)) < 0)
		return rc;
	fault_set(&call->fault, FAULT_EXHAUSTED, "/max_vms",
		  "team %s has %" PRId64 " of %" PRId64
		  " workspaces left (max_vms): %" PRId64 " are used, %" PRId64
		  " reserved for teams below it",
		  above->name, above->max_vms - vms.used - vms.reserved, above->max_vms,
		  vms.used, vms.reserved);
	return fault_hint(&call->fault, "Ask for fewer, or have its max_vms raised.");
}
