#include "core/team/team.h"

#include <string.h>

#include "core/access/who.h"
#include "core/agent.h"
#include "core/id.h"
#include "core/needs.h"
#include "core/room.h"
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
		if ((*more = !room_take(call, &record_member, &m)))
			break;
		*(struct member *)arena_push(&call->arena, out, n, sizeof(m)) = m;
	}
	query_end(&q);
	return rc < 0 ? rc : 0;
}

int team_lines(struct call *call, const struct team_list_in *in, int64_t team,
	       struct team_list_out *out, int64_t *open_tasks)
{
	struct team_lines_row r;
	struct team_state_row s;
	struct query q;
	int rc;

	sql_query(call, &q, team_lines, .all = in->all, .tree = in->tree, .team = team,
		  .below = !call->identity.agent || call->caller.level >= WHO_LEAD,
		  .but = 0, .offset = in->offset);
	while ((rc = sql_next(call, &q, &r)) > 0) {
		struct team_line l;

		*open_tasks += r.open_tasks;
		if (out->more)
			continue; /* members without room: they are only counted */
		rc = sql_row(call, team_state, &s, .team = r.id, .now = call->now);
		if (rc < 0)
			break;
		l = (struct team_line){ .name = r.name,
					.parent = r.parent_name,
					.state = s.now_state,
					.members = r.members,
					.open_tasks = r.open_tasks,
					.created_at = r.created_at,
					.path = in->tree ? r.path : NULL };
		if (room_take(call, &record_team_line, &l))
			*(struct team_line *)arena_push(&call->arena, &out->teams,
							&out->n_teams, sizeof(l)) = l;
		else
			out->more = true;
	}
	query_end(&q);
	out->next = in->offset + (int64_t)out->n_teams;
	return rc < 0 ? rc : 0;
}

int team_list(struct call *call, const struct team_list_in *in, struct team_list_out *out)
{
	int64_t own = call->identity.agent ? call->caller.team : 0, open_tasks = 0;

	return team_lines(call, in, own, out, &open_tasks);
}

static int tell_vms(struct call *call, int64_t team, int64_t limit, struct budget *out)
{
	struct team_vms_row vms;
	int rc = sql_row(call, team_vms, &vms, .team = team);

	*out = (struct budget){ .limit = limit,
				.used = vms.used,
				.reserved = vms.reserved,
				.left = limit - vms.used - vms.reserved };
	return rc < 0 ? rc : 0;
}

/* Tells a lead or the operator of the teams below, as far as the answer has room; no path
 * begins with the name of the team itself. */
static int tell_below(struct call *call, const struct team_row *t,
		      struct team_status_out *out)
{
	size_t skip = strlen(t->name) + strlen(" / ");
	struct team_lines_row r;
	struct team_state_row s;
	struct query q;
	int rc;

	if (call->caller.level < WHO_LEAD)
		return 0;
	sql_query(call, &q, team_lines, .tree = 1, .team = t->id, .below = 1,
		  .but = t->id);
	while ((rc = sql_next(call, &q, &r)) > 0) {
		struct team_below b;

		if ((rc = sql_row(call, team_state, &s, .team = r.id, .now = call->now)) <
		    0)
			break;
		b = (struct team_below){ .name = r.path + skip,
					 .state = s.now_state,
					 .members = r.members,
					 .open_tasks = r.open_tasks };
		if ((rc = tell_vms(call, r.id, r.max_vms, &b.vms)) < 0 ||
		    !room_take(call, &record_team_below, &b))
			break;
		*(struct team_below *)arena_push(&call->arena, &out->below, &out->n_below,
						 sizeof(b)) = b;
	}
	query_end(&q);
	return rc < 0 ? rc : 0;
}

/* Tells of the limits in the team, and to who leads it in those below. */
static int tell_budgets(struct call *call, const struct team_row *t,
			struct team_status_out *out)
{
	struct budget_list list = { 0 };
	int rc = budget_list_add(call, t->id, t->name, t->max_vms, &list);

	if (rc >= 0 && call->caller.level >= WHO_LEAD)
		rc = budget_list_below(call, t->id, t->name, &list);
	out->budgets = list.lines;
	out->n_budgets = list.n;
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
	struct team_open_assignments_row pending;
	struct agent_row after = { 0 };
	struct team_state_row s;
	struct team_row t;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (in->after_name &&
	     (rc = who_agent(call, in->after_name, "/after_name", &after)) < 0) ||
	    (rc = sql_row(call, team_by_id, &t, .id = call->caller.team)) < 0 ||
	    (rc = sql_row(call, team_state, &s, .team = t.id, .now = call->now)) < 0 ||
	    (rc = sql_row(call, team_open_assignments, &pending, .team = t.id)) < 0 ||
	    (rc = sql_row(call, team_board, &out->board, .team = t.id,
			  .now = call->now)) < 0 ||
	    (rc = tell_vms(call, t.id, t.max_vms, &out->vms)) < 0 ||
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
	out->pending_assignments = pending.n;
	out->inbox_capacity = t.inbox_capacity;
	out->allow_internet = t.allow_internet;
	out->allow_inter_vm = t.allow_inter_vm;
	if ((rc = team_tell_members(call, false, after.id, &out->members, &out->n_members,
				    &out->more)) < 0)
		return rc;
	rc = tell_below(call, &t, out);
	return rc < 0 ? rc : tell_budgets(call, &t, out);
}
