/* team_update - changes a team's limits, its network policy and its name. */
#include <inttypes.h>
#include <string.h>

#include "core/access/who.h"
#include "core/agent.h"
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

static int set_max_vms(struct call *call, const struct team_row *t, int64_t max_vms)
{
	struct team_vms_row vms;
	int rc = sql_run(call, team_set_max_vms, .team = t->id, .max_vms = max_vms);

	if (rc || (rc = sql_row(call, team_vms, &vms, .team = t->id)) < 0)
		return rc < 0 ? rc : 0;
	fault_set(&call->fault, FAULT_CONFLICT, "/max_vms",
		  "team %s has %" PRId64 " workspaces", t->name, vms.n);
	return fault_hint(&call->fault,
			  "Remove some with {workspace.destroy}, or allow as many.");
}

static int set_ports(struct call *call, const struct team_row *t,
		     const struct team_update_in *in)
{
	int rc = sql_run(call, team_ports_clear, .team = t->id);

	for (size_t i = 0; i < in->n_allowed_ports && rc >= 0; i++)
		rc = sql_run(call, team_port_add, .team = t->id,
			     .port = in->allowed_ports[i]);
	return rc < 0 ? rc : 0;
}

static int set_policy(struct call *call, const struct team_row *t,
		      const struct team_update_in *in)
{
	int rc = sql_run(call, team_set_policy, .team = t->id,
			 .inbox_capacity = in->has_inbox_capacity ? in->inbox_capacity
								  : t->inbox_capacity,
			 .allow_internet = in->has_allow_internet ? in->allow_internet
								  : t->allow_internet,
			 .allow_inter_vm = in->has_allow_inter_vm ? in->allow_inter_vm
								  : t->allow_inter_vm);

	return rc < 0 || !in->allowed_ports ? rc : set_ports(call, t, in);
}

/* --- the operation ------------------------------------------------------------------ */

/* The first argument that only the operator may give; NULL: none is given. */
static const char *operators_own(const struct team_update_in *in)
{
	return in->new_name             ? "/new_name"
	       : in->has_max_vms        ? "/max_vms"
	       : in->has_allow_internet ? "/allow_internet"
	       : in->has_allow_inter_vm ? "/allow_inter_vm"
	       : in->allowed_ports      ? "/allowed_ports"
					: NULL;
}

static int update(struct call *call, const struct team_update_in *in)
{
	const char *where = operators_own(in);
	struct team_row t;
	bool renamed;
	int rc;

	if (where && call->caller.level < WHO_OPERATOR)
		return fault_set(&call->fault, FAULT_DENIED, where,
				 "only the operator changes this of a team");
	if ((rc = sql_row(call, team_by_id, &t, .id = call->caller.team)) <= 0)
		return rc;
	call->made = t.id;
	renamed = in->new_name && strcmp(in->new_name, t.name) != 0;
	if ((!where && !in->has_inbox_capacity) ||
	    (in->has_max_vms && (rc = set_max_vms(call, &t, in->max_vms)) < 0) ||
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

int team_update(struct call *call, const struct team_update_in *in,
		struct team_update_out *out)
{
	struct team_row t;
	int rc;

	if ((!call->made &&
	     ((rc = who_team(call, in->team)) < 0 || (rc = update(call, in)) < 0)) ||
	    (rc = sql_row(call, team_by_id, &t, .id = call->made)) < 0)
		return rc;
	out->name = t.name;
	out->max_vms = t.max_vms;
	out->inbox_capacity = t.inbox_capacity;
	out->allow_internet = t.allow_internet;
	out->allow_inter_vm = t.allow_inter_vm;
	out->renamed = in->new_name != NULL;
	return team_ports_tell(call, t.id, &out->allowed_ports, &out->n_allowed_ports);
}
