/* team_destroy - ends a team, and in one transaction whatever lives by it. */
#include "core/access/who.h"
#include "core/message/message.h"
#include "core/team/budget.h"
#include "core/team/team.h"
#include "core/workspace/workspace_removal.h"

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

/* Ends the team that the call is in. */
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

/* Calls `each` for the team that the call is in and all below it, from the lowest up, with
 * the call in each of them. */
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

/* Notes what would be lost with the team that the call is in. */
static int team_destroy_plan(struct call *call, bool purge)
{
	int rc;

	if (purge)
		removal_add_notes(call, call->caller.team_name);
	rc = removal_add_hands(call, call->caller.team);
	return rc < 0 ? rc : removal_add_team(call, call->caller.team);
}

/* The team that is to end.  The operator may end any, an agent a team below its own.  A lead may also
 * end its own team where a team stands above. */
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
		  "a team is not ended by its own members");
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
