/* team_update - changes a team's limits, its network policy and its name. */
#include <inttypes.h>
#include <string.h>

#include "core/access/who.h"
#include "core/agent/agent.h"
#include "core/team/budget.h"
#include "core/team/team.h"

/* --- names ------------------------------------------------------------------------- */

int team_name_now(struct call *call, const char *was, const char **now)
{
	struct team_renamed_row r;
	int rc = sql_row(call, team_renamed, &r, .name = was);

	*now = rc > 0 ? r.name : NULL;
	return rc < 0 ? rc : 0;
}

int team_check_name(struct call *call, const char *name, const char *where)
{
	if (!agent_reserved(name) && strcmp(name, "lead") != 0)
		return 0;
	return fault_set(&call->fault, FAULT_INVALID, where, "%s is a reserved name",
			 name);
}

int team_name_taken(struct call *call, const char *name, const char *where)
{
	fault_set(&call->fault, FAULT_CONFLICT, where, "there is a team %s already",
		  name);
	return fault_hint(&call->fault, "Choose another name, or destroy that one.");
}

/* The old name leads to the team until another one gives up the same name. */
static int rename_team(struct call *call, const struct team_row *t, const char *name)
{
	int rc = team_check_name(call, name, "/new_name");

	if (rc < 0)
		return rc;
	if ((rc = sql_run(call, team_set_name, .team = t->id, .name = name)) <= 0)
		return rc < 0 ? rc : team_name_taken(call, name, "/new_name");
	call->caller.team_name = name;
	rc = sql_run(call, team_former_add, .name = t->name, .team = t->id,
		     .now = call->now);
	return rc < 0 ? rc : 0;
}

/* --- limits ------------------------------------------------------------------------ */

/* Sets the limit.  If the team's own use and the team above both forbid the limit, the
 * fault tells of the team's own use. */
static int set_max_vms(struct call *call, const struct team_row *t, int64_t max_vms)
{
	const struct team_wish more = { .max_vms = max_vms - t->max_vms };
	struct team_row above;
	struct team_counts_row vms;
	int rc = sql_run(call, team_set_max_vms, .team = t->id, .max_vms = max_vms);

	if (rc > 0)
		return budget_reserve(call, t->parent);
	if (rc < 0 || (rc = sql_row(call, team_counts, &vms, .team = t->id)) < 0)
		return rc;
	if (vms.used + vms.reserved <= max_vms) {
		rc = sql_row(call, team_by_id, &above, .id = t->parent);
		return rc < 0 ? rc : team_above_refuses(call, &above, &more);
	}
	fault_set(&call->fault, FAULT_CONFLICT, "/max_vms",
		  "team %s has %" PRId64 " workspaces and has left %" PRId64
		  " to teams below it",
		  t->name, vms.used, vms.reserved);
	return fault_hint(&call->fault,
			  "Remove some with {workspace.destroy}, or allow as many.");
}

static int team_update_set_ports(struct call *call, const struct team_row *t,
				 const struct team_update_in *in)
{
	int rc = sql_run(call, team_ports_clear, .team = t->id);

	return rc < 0 ? rc
		      : team_add_ports(call, t->parent, in->allowed_ports,
				       in->n_allowed_ports);
}

static int set_policy(struct call *call, const struct team_row *t,
		      const struct team_update_in *in)
{
	const struct team_wish internet = { .allow_internet = in->allow_internet },
			       inter_vm = { .allow_inter_vm = in->allow_inter_vm };
	int rc = 0;

	if (t->parent && ((rc = team_check_policy(call, t->parent, &internet)) < 0 ||
			  (rc = team_check_policy(call, t->parent, &inter_vm)) < 0))
		return rc;
	rc = sql_run(call, team_set_policy, .team = t->id,
		     .inbox_capacity = in->has_inbox_capacity ? in->inbox_capacity
							      : t->inbox_capacity,
		     .allow_internet = in->has_allow_internet ? in->allow_internet
							      : t->allow_internet,
		     .allow_inter_vm = in->has_allow_inter_vm ? in->allow_inter_vm
							      : t->allow_inter_vm);

	return rc < 0 || !in->allowed_ports ? rc : team_update_set_ports(call, t, in);
}

/* --- the operation ------------------------------------------------------------------ */

/* Whether anything is said that is to change. */
static bool team_update_says(const struct team_update_in *in)
{
	return in->new_name || in->has_max_vms || in->has_max_tokens ||
	       in->has_max_cost || in->has_max_seconds || in->has_max_messages ||
	       in->has_inbox_capacity || in->has_allow_internet ||
	       in->has_allow_inter_vm || in->allowed_ports;
}

/* The first argument that the caller may not give: the lead of the team above may give all
 * but a name, the team's own lead what is of nobody else's concern.  NULL: none is. */
static const char *from_above(const struct call *call, const struct team_update_in *in)
{
	bool above = call->identity.agent && call->caller.team != call->caller.own_team;

	if (call->caller.level >= WHO_OPERATOR)
		return NULL;
	return in->new_name             ? "/new_name"
	       : above                  ? NULL
	       : in->has_max_vms        ? "/max_vms"
	       : in->has_max_tokens     ? "/max_tokens"
	       : in->has_max_cost       ? "/max_cost"
	       : in->has_max_seconds    ? "/max_seconds"
	       : in->has_max_messages   ? "/max_messages"
	       : in->has_allow_internet ? "/allow_internet"
	       : in->has_allow_inter_vm ? "/allow_inter_vm"
	       : in->allowed_ports      ? "/allowed_ports"
					: NULL;
}

static int team_update_row(struct call *call, const struct team_update_in *in)
{
	const char *where = from_above(call, in);
	struct team_row t;
	bool renamed;
	int rc;

	if (where)
		return fault_set(&call->fault, FAULT_DENIED, where,
				 strcmp(where, "/new_name")
					 ? "only the operator, or the lead of the team "
					   "above, changes this of a team"
					 : "only the operator renames a team");
	if ((rc = sql_row(call, team_by_id, &t, .id = call->caller.team)) <= 0)
		return rc;
	call->made = t.id;
	renamed = in->new_name && strcmp(in->new_name, t.name) != 0;
	if (!team_update_says(in) ||
	    (in->has_max_vms && (rc = set_max_vms(call, &t, in->max_vms)) < 0) ||
	    (rc = budget_change(call, t.id, budget_wish_of(in))) < 0 ||
	    (rc = set_policy(call, &t, in)) < 0 ||
	    (renamed && (rc = rename_team(call, &t, in->new_name)) < 0))
		return rc < 0 ? rc : 0;
	return event_emit(call, EVENT_TEAM_UPDATED, t.id, 0, renamed ? t.name : NULL);
}

int team_ports_tell(struct call *call, int64_t team, int64_t **ports, size_t *n)
{
	struct team_ports_row row;
	struct query q;
	int rc;

	sql_query(call, &q, team_ports, .team = team);
	while ((rc = sql_next(call, &q, &row)) > 0)
		*(int64_t *)arena_push(&call->arena, ports, n, sizeof(**ports)) =
			row.port;
	return rc;
}

/* Puts the call into the team that is to change: its own, or for a lead one below. */
static int team_update_enter(struct call *call, const char *team)
{
	int rc = team_enter_below(call, team);

	return rc ? rc : who_team(call, team);
}

static void tell_limits(struct team_update_out *out, const int64_t most[BUDGET_KINDS])
{
	out->max_tokens = most[BUDGET_KIND_TOKENS];
	out->has_max_tokens = out->max_tokens > 0;
	out->max_cost = most[BUDGET_KIND_COST];
	out->has_max_cost = out->max_cost > 0;
	out->max_seconds = most[BUDGET_KIND_SECONDS];
	out->has_max_seconds = out->max_seconds > 0;
	out->max_messages = most[BUDGET_KIND_MESSAGES];
	out->has_max_messages = out->max_messages > 0;
}

int team_update(struct call *call, const struct team_update_in *in,
		struct team_update_out *out)
{
	int64_t limits[BUDGET_KINDS] = { 0 };
	struct team_row t;
	int rc;

	if ((!call->made && ((rc = team_update_enter(call, in->team)) < 0 ||
			     (rc = team_update_row(call, in)) < 0)) ||
	    (rc = sql_row(call, team_by_id, &t, .id = call->made)) < 0 ||
	    (rc = budget_limits(call, t.id, limits)) < 0)
		return rc;
	out->name = t.name;
	out->max_vms = t.max_vms;
	tell_limits(out, limits);
	out->inbox_capacity = t.inbox_capacity;
	out->allow_internet = t.allow_internet;
	out->allow_inter_vm = t.allow_inter_vm;
	out->renamed = in->new_name != NULL;
	return team_ports_tell(call, t.id, &out->allowed_ports, &out->n_allowed_ports);
}
