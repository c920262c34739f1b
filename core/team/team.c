#include "core/team/team.h"

#include <inttypes.h>
#include <string.h>

#include "core/access/who.h"
#include "core/agent/agent.h"
#include "core/call/id.h"
#include "core/call/space.h"
#include "core/message/message.h"
#include "core/overview/needs.h"
#include "core/task/task.h"
#include "core/team/budget.h"
#include "core/team/estop.h"
#include "core/team/member.h"
#include "core/team/team_plan.h"
#include "core/workspace/workspace_removal.h"

/* Checks a new or changed team against the limits of the team above. The team above limits who
 * makes the team, how deep the team is, and which workspaces and policy the team has. */

/* Returns 0 if the caller may make teams below its own team, otherwise a fault. The lead, or a
 * member whose role has the flag `nests`, may make teams below. */
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
		  "only the lead of team %s, or a member for whom `nests` "
		  "is true, can make a team below it",
		  call->caller.team_name);
	return who_ask(call, WHO_LEAD);
}

/* Finds the parent of a new team, and sets the caller's team to the parent. `*above` is NULL
 * for a team without a parent. Returns 0, or denied at /parent if the caller may not make the
 * team. */
static int team_above(struct call *call, const char *parent,
		      const struct team_row **above)
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
		  "team %s has %" PRId64 " teams above it, so it can have no "
		  "team below (limits.max_nesting_depth)",
		  above->name, above->depth);
	return fault_hint(&call->fault, "Make the new team below a higher team.");
}

/* Refuses a policy that is wider than the policy of `team` or of a team above `team`. The fault
 * names the team with the narrower policy. Returns 0, or denied at the argument. */
static int team_check_policy(struct call *call, int64_t team,
			     const struct team_wish *wish)
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
	return fault_hint(&call->fault,
			  "A team's policy may only narrow the policy of the "
			  "team above.");
}

/* Opens ports in the team that the call makes or changes. If `above` is not 0, the team `above`
 * must allow the ports. Returns 0, or denied at /allowed_ports. */
static int team_add_ports(struct call *call, int64_t above, const int64_t *ports,
			  size_t n)
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

/* Fills the fault for a wish that the team above does not allow, or for which the team above
 * has too little left. The fault names the limit, the team with that limit, and the amount that
 * is left. */
static int team_above_refuses(struct call *call, const struct team_row *above,
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
	return fault_hint(&call->fault, "Ask for fewer, or ask for a higher max_vms.");
}

/* Changes a team's limits, its network policy and its name. */

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

/* Fills the fault for a name that another living team has. */
static int team_name_taken(struct call *call, const char *name, const char *where)
{
	fault_set(&call->fault, FAULT_CONFLICT, where, "there is a team %s already",
		  name);
	return fault_hint(&call->fault, "Choose another name, or destroy that team.");
}

/* Renames a team. The old name still finds the team, unless another team has this name now or
 * was renamed from it later. */
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

/* Sets the limit on workspaces. If both the team's own use and the team above forbid the limit,
 * the fault names the team's own use. */
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
		  "team %s has %" PRId64 " workspaces and has reserved "
		  "%" PRId64 " for teams below it",
		  t->name, vms.used, vms.reserved);
	return fault_hint(&call->fault,
			  "Remove workspaces with {workspace.destroy}, or set the "
			  "limit to the sum of both numbers or higher.");
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

/* Whether the call has an argument that changes the team. */
static bool team_update_says(const struct team_update_in *in)
{
	return in->new_name || in->has_max_vms || in->has_max_tokens ||
	       in->has_max_cost || in->has_max_seconds || in->has_max_messages ||
	       in->has_inbox_capacity || in->has_allow_internet ||
	       in->has_allow_inter_vm || in->allowed_ports;
}

/* Returns the first argument that the caller is not allowed to give, or NULL if the caller may
 * give all arguments of the call. The lead of the team above may give every argument except a
 * name. The team's own lead may give only arguments that concern no other team. */
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
		return fault_set(
			&call->fault, FAULT_DENIED, where,
			strcmp(where, "/new_name")
				? "only the operator, or the lead of the team above, may "
				  "change this"
				: "only the operator may rename a team");
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

/* Lists the ports that are open between a team's VMs. An empty list means that all ports are
 * open. Returns 0 or negative. */
static int team_ports_tell(struct call *call, int64_t team, int64_t **ports, size_t *n)
{
	struct team_ports_row row;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, team_ports, &row, .team = team)) > 0)
		arena_add(&call->arena, *ports, *n, row.port);
	return rc;
}

/* Sets the caller's team to the team that the call changes. An agent can change its own team.
 * The lead of a team can also change the teams directly below. A member can also change a team
 * below that the member has made. */
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

int team_announce(struct call *call, int64_t team)
{
	struct team_state_row s;
	int rc = sql_row(call, team_state, &s, .team = team, .now = call->now);

	if (rc <= 0 || s.now_state == s.state)
		return rc < 0 ? rc : 0;
	if ((rc = sql_run(call, team_set_state, .team = team, .state = s.now_state)) < 0)
		return rc;
	if (team == call->caller.team)
		call->caller.team_state = s.now_state;
	return event_by(call, .kind = EVENT_TEAM_STATE, .team = team,
			.actor = event_actor(call), .subject = team,
			.detail = field_choice(&record_team_line, "state", s.now_state));
}

/* --- answers ----------------------------------------------------------------------- */

int team_tell_members(struct call *call, bool gone, int64_t after, struct member **out,
		      size_t *n, bool *more)
{
	struct team_members_row r;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, team_members, &r, .team = call->caller.team,
			      .gone = gone, .after = after, .now = call->now)) > 0) {
		struct task_claimed_at_row claim = { 0 };
		struct task_row t = { 0 };

		if (r.task && ((rc = sql_row(call, task_by_id, &t, .id = r.task,
					     .now = call->now)) < 0 ||
			       (rc = sql_row(call, task_claimed_at, &claim,
					     .task = r.task, .now = call->now)) < 0))
			break;
		struct member m = {
			.name = r.name,
			.role = r.role,
			.status = agent_status_now(r.status, r.task),
			.address = arena_printf(&call->arena, "%s/%s",
						call->caller.team_name, r.name),
			.task = t.number ? task_name(call, t.number) : NULL,
			.title = t.title,
			.claimed_at = claim.at,
			.has_claimed_at = claim.at != 0,
			.blocked = claim.blocked,
			.also = claim.also,
			.last_active = r.active_at,
			.generation = r.generation,
		};

		if (r.workspace)
			m.workspace = id_public(call, ID_WORKSPACE, r.workspace,
						r.workspace_at);
		if (!space_add(call, &record_member, &m, out, n, INT64_MAX, more))
			break;
	}
	return query_over(&q, rc);
}

static struct budget vms_of(const struct team_counts_row *n, int64_t limit)
{
	return (struct budget){ .limit = limit,
				.used = n->used,
				.reserved = n->reserved,
				.left = limit - n->used - n->reserved };
}

/* Shows to a lead or the operator as many of the teams below as fit the answer, with their
 * limits. */
static int tell_below(struct call *call, const struct team_row *t,
		      struct team_status_out *out, struct budget_list *budgets)
{
	struct team_walk w = { .root = t->id };
	struct team_counts_row n;
	struct team_state_row s;
	int rc;

	if (call->caller.level < WHO_LEAD)
		return 0;
	while ((rc = team_walk_next(call, &w)) > 0) {
		const struct team_line_row *r = &w.at->team;
		struct team_below b;

		if ((rc = sql_row(call, team_state, &s, .team = r->id,
				  .now = call->now)) < 0 ||
		    (rc = sql_row(call, team_counts, &n, .team = r->id)) < 0)
			return rc;
		b = (struct team_below){ .name = w.at->path,
					 .state = s.now_state,
					 .members = r->members,
					 .open_tasks = r->open_tasks,
					 .vms = vms_of(&n, r->max_vms) };
		if (!space_take(call, &record_team_below, &b))
			return 0;
		arena_add(&call->arena, out->below, out->n_below, b);
		if ((rc = budget_list_add(call, r->id,
					  arena_printf(&call->arena, "%s / %s", t->name,
						       w.at->path),
					  r->max_vms, budgets)) < 0)
			return rc;
	}
	return rc;
}

static int tell_parent(struct call *call, const struct team_row *t, const char **parent)
{
	struct team_parent_row above;
	int rc = sql_row(call, team_parent, &above, .team = t->id);

	*parent = rc > 0 ? above.name : NULL;
	return rc < 0 ? rc : 0;
}

int team_status(struct call *call, const struct team_status_in *in,
		struct team_status_out *out)
{
	struct budget_list budgets = { 0 };
	struct team_counts_row n;
	struct agent_row after = { 0 };
	struct team_state_row s;
	struct team_row t;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (in->after_name &&
	     (rc = who_agent(call, in->after_name, "/after_name", &after)) < 0) ||
	    (rc = sql_row(call, team_by_id, &t, .id = call->caller.team)) < 0 ||
	    (rc = sql_row(call, team_state, &s, .team = t.id, .now = call->now)) < 0 ||
	    (rc = sql_row(call, team_counts, &n, .team = t.id)) < 0 ||
	    (rc = sql_row(call, team_board, &out->board, .team = t.id,
			  .now = call->now)) < 0 ||
	    (rc = tell_parent(call, &t, &out->parent)) < 0 ||
	    (rc = team_ports_tell(call, t.id, &out->allowed_ports,
				  &out->n_allowed_ports)) < 0 ||
	    (rc = needs_tell(call, t.id, &out->needs, &out->n_needs)) < 0)
		return rc;
	out->team_id = id_public(call, ID_TEAM, t.id, t.created_at);
	out->name = t.name;
	out->state = s.now_state;
	out->has_stopped_at = t.stopped_at != 0;
	out->stopped_at = t.stopped_at;
	out->created_at = t.created_at;
	out->vms = vms_of(&n, t.max_vms);
	out->pending_assignments = n.assignments;
	out->inbox_capacity = t.inbox_capacity;
	out->allow_internet = t.allow_internet;
	out->allow_inter_vm = t.allow_inter_vm;
	if ((rc = team_tell_members(call, false, after.id, &out->members, &out->n_members,
				    &out->more)) < 0)
		return rc;
	if ((rc = budget_list_add(call, t.id, t.name, t.max_vms, &budgets)) < 0 ||
	    (rc = tell_below(call, &t, out, &budgets)) < 0)
		return rc;
	out->budgets = budgets.lines;
	out->n_budgets = budgets.n;
	return 0;
}

/* Makes a team with a row, members and workspaces. */

static int64_t places(const struct call *call, const struct team_create_in *in)
{
	int64_t n = 0;

	for (size_t i = 0; i < in->n_roles; i++)
		if (member_has_place(call, &in->roles[i]))
			n += in->roles[i].count;
	return n;
}

/* The limits that the new team asks for. By default, a team below another team asks for as many
 * workspaces as its roles need. The default policy is the policy of the team above. */
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

/* Adds a member `lead` if no role is the lead, because every team has a lead. If an agent makes
 * the team, this agent holds the place of the lead. */
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

/* Sets the caller's team to the new team, and adds the operator's place to the new team. If an
 * agent makes the team, the agent stays the caller. */
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

/* Makes the members from the call's own arguments, and then the members from the call's plan. */
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

/* Makes a team, with or without a team above it. */
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

/* Ends a team. The same transaction also ends the tasks, workspaces, messages and agents of the
 * team. */

static int end_tasks(struct call *call, int64_t team)
{
	struct team_end_tasks_row r;
	struct query q;
	int64_t n;
	int rc;

	sql_query(call, &q, team_end_tasks, .team = team, .agent = call->caller.agent,
		  .now = call->now);
	for (n = 0; (rc = sql_next(call, &q, &r)) > 0; n++)
		if ((rc = event_emit(call, EVENT_TASK_CANCELLED, r.id, 0,
				     "the team ended")) < 0)
			break;
	query_end(&q);
	if (rc < 0 || (rc = sql_run(call, team_end_failed, .team = team)) < 0)
		return rc;
	return sql_run(call, board_end, .team = team, .cancelled = n);
}

static int end_workspaces(struct call *call, int64_t team)
{
	struct team_end_workspaces_row r;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, team_end_workspaces, &r, .team = team,
			      .now = call->now)) > 0)
		if ((rc = event_emit(call, EVENT_WORKSPACE_DESTROYED, r.id, 0,
				     "the team ended")) < 0)
			break;
	query_end(&q);
	return rc;
}

/* Ends the team of the call. */
static int team_destroy_end(struct call *call, bool purge)
{
	int64_t team = call->caller.team;
	int rc = sql_run(call, team_end, .team = team, .now = call->now, .purge = purge);

	if (rc <= 0)
		return rc;
	if ((rc = end_tasks(call, team)) < 0 || (rc = end_workspaces(call, team)) < 0 ||
	    (rc = sql_run(call, team_end_assignments, .team = team)) < 0 ||
	    (rc = sql_run(call, team_end_results, .team = team, .now = call->now)) < 0 ||
	    (rc = message_delayed_give_up(call, 0, team)) < 0 ||
	    (rc = sql_run(call, team_dead_deliveries, .team = team, .now = call->now,
			  .kind = EVENT_MESSAGE_DEAD, .actor = event_actor(call),
			  .via = call->identity.as, .detail = "the team ended")) < 0)
		return rc;
	store_renumber(call->store, sql_event_new_id);
	if ((rc = sql_run(call, team_end_deliveries, .team = team, .now = call->now)) <
		    0 ||
	    (rc = sql_run(call, team_end_inboxes, .team = team)) < 0 ||
	    (rc = sql_run(call, reservation_end_team, .team = team)) < 0 ||
	    (rc = sql_run(call, team_end_agents, .team = team)) < 0 ||
	    (rc = budget_close(call, team)) < 0)
		return rc;
	return event_emit(call, EVENT_TEAM_DESTROYED, team, 0, purge ? "purge" : NULL);
}

/* Calls `each` for the team of the call and for all teams below, from the lowest up. While
 * `each` runs for a team, the caller's team is this team. */
static int each_below(struct call *call, bool purge,
		      int (*each)(struct call *call, bool purge))
{
	const struct caller was = call->caller;
	struct team_subtree_row *all = NULL;
	size_t n;
	int rc = sql_all(call, team_subtree, &all, &n, .team = was.team);

	for (size_t i = 0; i < n && rc >= 0; i++) {
		call->caller.team = all[i].id;
		call->caller.team_name = all[i].name;
		rc = each(call, purge);
	}
	call->caller = was;
	return rc;
}

/* Adds to the plan of the removal the data that the call's team would lose. */
static int team_destroy_plan(struct call *call, bool purge)
{
	return removal_add_team(call, call->caller.team,
				purge ? call->caller.team_name : NULL);
}

/* Finds the team to end. The operator may end any team. An agent may end a team directly below
 * a team that the agent leads, or a team below its own team that the agent has made. A lead may
 * also end its own team if there is a team above. */
static int team_destroy_find(struct call *call, const char *team)
{
	int rc = team_enter_below(call, team);
	struct team_row t;

	if (rc)
		return rc < 0 ? rc : 0;
	if ((rc = who_team(call, team)) < 0 || !call->identity.agent ||
	    (rc = sql_row(call, team_by_id, &t, .id = call->caller.team)) < 0 ||
	    (t.parent && call->caller.level >= WHO_LEAD))
		return rc < 0 ? rc : 0;
	fault_set(&call->fault, FAULT_DENIED, "/team",
		  "a team's own members cannot end it");
	return fault_hint(&call->fault, "%s",
			  t.parent ? "Ask its lead, or the lead of the team above it."
				   : "Ask the operator.");
}

int team_destroy(struct call *call, const struct team_destroy_in *in,
		 struct team_destroy_out *out)
{
	struct team_row t;
	int rc;

	if (!call->made && (rc = team_destroy_find(call, in->team)) < 0)
		return rc;
	if (call->plans && !call->made)
		return each_below(call, in->purge, team_destroy_plan);
	if (!call->made) {
		call->made = call->caller.team;
		if ((rc = each_below(call, in->purge, team_destroy_end)) < 0)
			return rc;
	}
	if ((rc = sql_row(call, team_by_id, &t, .id = call->made)) < 0)
		return rc;
	out->name = t.name;
	out->state = TEAM_STATE_DESTROYED;
	out->note = removal_tell(call);
	return 0;
}
