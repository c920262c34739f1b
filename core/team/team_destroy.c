/* team_destroy - ends a team, and in one transaction whatever lives by it. */
#include "core/access/who.h"
#include "core/team/team.h"
#include "core/workspace_loss.h"

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
	return rc < 0 ? rc : sql_run(call, board_end, .team = team, .cancelled = n);
}

static int end_workspaces(struct call *call, int64_t team)
{
	struct team_end_workspaces_row r;
	struct query q;
	int rc;

	sql_query(call, &q, team_end_workspaces, .team = team, .now = call->now);
	while ((rc = sql_next(call, &q, &r)) > 0)
		if ((rc = event_emit(call, EVENT_WORKSPACE_DESTROYED, r.id, 0,
				     "the team ended")) < 0)
			break;
	query_end(&q);
	return rc;
}

static int end(struct call *call, int64_t team, bool purge)
{
	int rc = sql_run(call, team_end, .team = team, .now = call->now, .purge = purge);

	if (rc <= 0)
		return rc;
	call->made = team;
	if ((rc = end_tasks(call, team)) < 0 || (rc = end_workspaces(call, team)) < 0 ||
	    (rc = sql_run(call, team_end_assignments, .team = team)) < 0 ||
	    (rc = sql_run(call, team_end_results, .team = team, .now = call->now)) < 0 ||
	    (rc = sql_run(call, team_dead_deliveries, .team = team, .now = call->now,
			  .kind = EVENT_MESSAGE_DEAD, .actor = event_actor(call),
			  .via = call->identity.as, .detail = "the team ended")) < 0 ||
	    (rc = sql_run(call, team_end_deliveries, .team = team, .now = call->now)) <
		    0 ||
	    (rc = sql_run(call, team_end_inboxes, .team = team)) < 0 ||
	    (rc = sql_run(call, team_end_agents, .team = team)) < 0)
		return rc;
	return event_emit(call, EVENT_TEAM_DESTROYED, team, 0, purge ? "purge" : NULL);
}

int team_destroy(struct call *call, const struct team_destroy_in *in,
		 struct team_destroy_out *out)
{
	struct team_row t;
	int rc;

	if (call->plans && !call->made) {
		if ((rc = who_team(call, in->team)) < 0)
			return rc;
		if (in->purge)
			loss_add_notes(call, call->caller.team_name);
		if ((rc = loss_add_hands(call, call->caller.team)) < 0)
			return rc;
		return loss_add_team(call, call->caller.team);
	}
	if (!call->made && ((rc = who_team(call, in->team)) < 0 ||
			    (rc = end(call, call->caller.team, in->purge)) < 0))
		return rc;
	if ((rc = sql_row(call, team_by_id, &t, .id = call->made)) < 0)
		return rc;
	out->name = t.name;
	out->state = TEAM_STATE_DESTROYED;
	out->note = loss_tell(call);
	return 0;
}
