#include "core/team/team.h"

#include "core/access/who.h"
#include "core/agent/agent.h"
#include "core/call/id.h"
#include "core/overview/needs.h"
#include "core/call/space.h"
#include "core/task/task.h"
#include "core/team/budget.h"

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

/* --- telling ----------------------------------------------------------------------- */

int team_tell_members(struct call *call, bool gone, int64_t after, struct member **out,
		      size_t *n, bool *more)
{
	struct team_members_row r;
	struct query q;
	int rc;

	sql_query(call, &q, team_members, .team = call->caller.team, .gone = gone,
		  .after = after, .now = call->now);
	while ((rc = sql_next(call, &q, &r)) > 0) {
		struct task_row t = { 0 };

		if (r.task && (rc = sql_row(call, task_by_id, &t, .id = r.task,
					    .now = call->now)) < 0)
			break;
		struct member m = {
			.name = r.name,
			.role = r.role,
			.status = agent_status_now(r.status, r.task),
			.address = arena_printf(&call->arena, "%s/%s",
						call->caller.team_name, r.name),
			.task = t.number ? task_name(call, t.number) : NULL,
			.title = t.title,
			.last_active = r.active_at,
			.generation = r.generation,
		};

		if (r.workspace)
			m.workspace = id_public(call, ID_WORKSPACE, r.workspace,
						r.workspace_at);
		if ((*more = !space_take(call, &record_member, &m)))
			break;
		*(struct member *)arena_push(&call->arena, out, n, sizeof(m)) = m;
	}
	query_end(&q);
	return rc < 0 ? rc : 0;
}

static struct budget vms_of(const struct team_counts_row *n, int64_t limit)
{
	return (struct budget){ .limit = limit,
				.used = n->used,
				.reserved = n->reserved,
				.left = limit - n->used - n->reserved };
}

/* Tells a lead or the operator of the teams below, as far as the answer has room, and of their
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
		*(struct team_below *)arena_push(&call->arena, &out->below, &out->n_below,
						 sizeof(b)) = b;
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
