#include "core/workspace/snapshot.h"

#include <string.h>

#include "core/access/who.h"
#include "core/assignment/assignment.h"
#include "core/call/id.h"
#include "core/call/space.h"
#include "core/team/team.h"
#include "core/workspace/workspace_removal.h"

/* --- finding ------------------------------------------------------------------- */

int snapshot_find(struct call *call, const struct workspace_row *w, const char *name,
		  struct snapshot_row *s)
{
	const struct id_among of = {
		.noun = ID_SNAPSHOT,
		.own = w->id,
		.where = "/snapshot",
	};
	struct snapshot_by_name_row by_name;
	const char *id;
	int64_t row = 0, at;
	int rc = id_parse(call, ID_SNAPSHOT, name, &row, &at);

	if (rc == 0 && (rc = sql_row(call, snapshot_by_name, &by_name, .workspace = w->id,
				     .name = name)) > 0)
		row = by_name.id;
	if (rc == 0 && (rc = id_short(call, &of, name, &id)) > 0)
		rc = id_parse(call, ID_SNAPSHOT, id, &row, &at);
	if (rc > 0)
		rc = sql_row(call, snapshot_by_id, s, .id = row);
	if (rc < 0)
		return rc;
	if (rc > 0 && s->workspace == w->id)
		return 0;
	fault_set(&call->fault, FAULT_NOT_FOUND, "/snapshot",
		  "workspace %s has no snapshot %s", w->name, name);
	return fault_hint(&call->fault, "See them with: {workspace.snapshots} %s.",
			  w->name);
}

int snapshot_ready(struct call *call, const struct workspace_row *w, const char *name,
		   struct snapshot_row *s)
{
	int rc = snapshot_find(call, w, name, s);

	if (rc < 0 || s->state == SNAPSHOT_STATE_READY)
		return rc;
	return fault_set(&call->fault, FAULT_CONFLICT, "/snapshot", "snapshot %s is %s",
			 s->name, field_choice(&record_snapshot, "state", s->state));
}

static void snapshot_tell(struct call *call, const struct snapshot_row *s,
			  struct snapshot *out)
{
	*out = (struct snapshot){
		.id = id_public(call, ID_SNAPSHOT, s->id, s->created_at),
		.name = s->name,
		.workspace = s->workspace_name,
		.state = s->state,
		.created_at = s->created_at,
	};
}

static int snapshot_tell_row(struct call *call, int64_t row, struct snapshot *out)
{
	struct snapshot_row s;
	int rc = sql_row(call, snapshot_by_id, &s, .id = row);

	if (rc > 0)
		snapshot_tell(call, &s, out);
	return rc < 0 ? rc : 0;
}

int workspace_snapshots(struct call *call, const struct workspace_snapshots_in *in,
			struct workspace_snapshots_out *out)
{
	struct workspace_row w;
	struct snapshot_row s;
	struct query q;
	int rc = workspace_find(call, in->team, in->workspace, &w);

	if (rc < 0)
		return rc;
	sql_query(call, &q, snapshot_lines, .workspace = w.id, .offset = in->offset);
	while ((rc = sql_next(call, &q, &s)) > 0) {
		struct snapshot told;

		snapshot_tell(call, &s, &told);
		if ((out->more = !space_take(call, &record_snapshot, &told)))
			break;
		*(struct snapshot *)arena_push(&call->arena, &out->snapshots,
					       &out->n_snapshots, sizeof(told)) = told;
	}
	query_end(&q);
	out->next = in->offset + (int64_t)out->n_snapshots;
	return rc < 0 ? rc : 0;
}

/* --- asked for ------------------------------------------------------------------- */

static int can_keep(struct call *call, const struct workspace_row *w)
{
	int rc = workspace_is_over(call, w);

	if (rc < 0 || w->path)
		return rc;
	return fault_set(&call->fault, FAULT_CONFLICT, "/workspace",
			 "the guest of workspace %s runs elsewhere: nothing of it can be "
			 "kept",
			 w->name);
}

static int snapshot_insert(struct call *call, const struct workspace_row *w,
			   const char *name)
{
	int64_t id;
	int rc;

	if (!w->was_up) {
		bool failed = w->state == WORKSPACE_STATE_FAILED;

		fault_set(&call->fault, FAULT_CONFLICT, "/workspace",
			  failed ? "nothing was ever in workspace %s: it has failed"
				 : "workspace %s holds nothing yet",
			  w->name);
		return fault_hint(&call->fault, failed ? "`cadre doctor` says why; then "
							 "{workspace.start}."
						       : "Wait until it is ready.");
	}
	if ((id = sql_new_id(call, snapshot)) < 0)
		return call->fault.code;
	rc = sql_run(call, snapshot_add, .id = id, .workspace = w->id, .name = name,
		     .now = call->now);
	if (rc == 0)
		return fault_set(&call->fault, FAULT_CONFLICT, "/name",
				 "workspace %s has a snapshot %s already", w->name, name);
	if (rc > 0)
		call->made = id;
	return rc < 0 ? rc : 0;
}

/* The host takes the snapshot, and answers when that is done. */
int workspace_snapshot(struct call *call, const struct workspace_snapshot_in *in,
		       struct workspace_snapshot_out *out)
{
	struct workspace_row w;
	int rc = workspace_find(call, in->team, in->workspace, &w);

	if (rc < 0)
		return rc;
	if (!call->made) {
		if ((rc = can_keep(call, &w)) < 0 ||
		    (rc = workspace_is_here(call, &w, "/workspace")) < 0 ||
		    (rc = snapshot_insert(call, &w, in->name)) < 0)
			return rc;
		call->place = w.id;
	}
	return snapshot_tell_row(call, call->made, &out->snapshot);
}

int workspace_snapshot_remove(struct call *call,
			      const struct workspace_snapshot_remove_in *in,
			      struct workspace_snapshot_remove_out *out)
{
	struct snapshot_in_use_row use;
	struct workspace_row w;
	struct snapshot_row s;
	int rc;

	if ((rc = workspace_find(call, in->team, in->workspace, &w)) < 0)
		return rc;
	if (call->made) /* its name is free, and may be another one's */
		return snapshot_tell_row(call, call->made, &out->snapshot);
	if ((rc = workspace_is_here(call, &w, "/workspace")) < 0 ||
	    (rc = snapshot_find(call, &w, in->snapshot, &s)) < 0 ||
	    (rc = sql_row(call, snapshot_in_use, &use, .snapshot = s.id)) < 0)
		return rc;
	if (call->plans) {
		if (s.state == SNAPSHOT_STATE_READY)
			removal_add_snapshot(call, &w, &s);
		return 0;
	}
	out->note = removal_tell(call);
	if (s.state == SNAPSHOT_STATE_MAKING || use.n)
		return fault_set(&call->fault, FAULT_CONFLICT, "/snapshot",
				 "snapshot %s is being %s", s.name,
				 use.n ? "used" : "made");
	if ((rc = sql_run(call, snapshot_set_state, .id = s.id,
			  .state = SNAPSHOT_STATE_REMOVED)) < 0)
		return rc;
	call->made = s.id;
	if (w.state != WORKSPACE_STATE_DESTROYED)
		call->place = w.id;
	return snapshot_tell_row(call, s.id, &out->snapshot);
}

/* The guest ends, and the next one has a spool that knows nothing of it. */
static int snapshot_end_work(struct call *call, const struct workspace_row *w)
{
	return w->agent ? assignment_interrupt(call, w->agent,
					       "interrupted: its workspace was put back "
					       "to a snapshot")
			: 0;
}

int workspace_restore(struct call *call, const struct workspace_restore_in *in,
		      struct workspace_restore_out *out)
{
	struct workspace_row w;
	struct snapshot_row s;
	int rc = workspace_find(call, in->team, in->workspace, &w);

	if (rc < 0)
		return rc;
	if (call->plans && !call->made)
		return (rc = can_keep(call, &w)) < 0 ||
				       (rc = snapshot_ready(call, &w, in->snapshot, &s)) <
					       0
			       ? rc
			       : removal_add_restore(call, &w);
	out->note = removal_tell(call);
	if (!call->made) {
		if ((rc = can_keep(call, &w)) < 0 ||
		    (rc = snapshot_ready(call, &w, in->snapshot, &s)) < 0 ||
		    (rc = sql_run(call, workspace_set_restore, .id = w.id,
				  .snapshot = s.id, .now = call->now)) < 0 ||
		    (w.state == WORKSPACE_STATE_READY &&
		     (rc = sql_run(call, board_add_vms, .team = w.team, .guests = -1)) <
			     0) ||
		    (rc = snapshot_end_work(call, &w)) < 0 ||
		    (rc = event_emit(call, EVENT_WORKSPACE_RESTORED, w.id, w.agent,
				     s.name)) < 0 ||
		    (rc = team_announce(call, call->caller.team)) < 0)
			return rc;
		call->made = w.id;
	}
	return workspace_tell(call, w.id, &out->workspace);
}

/* --- seen by the host --------------------------------------------------------------- */

int workspace_snapshot_note(struct call *call,
			    const struct workspace_snapshot_note_in *in,
			    struct workspace_snapshot_note_out *out)
{
	struct snapshot_row s;
	struct workspace_row w;
	int rc;

	(void)out;
	if (!in->snapshot)
		return sql_run(call, snapshot_give_up, .state = in->state,
			       .host = store_host(call->store));
	if ((rc = sql_run(call, snapshot_set_state, .id = in->snapshot,
			  .state = in->state)) <= 0 ||
	    in->state != SNAPSHOT_STATE_READY ||
	    (rc = sql_row(call, snapshot_by_id, &s, .id = in->snapshot)) <= 0 ||
	    (rc = sql_row(call, workspace_by_id, &w, .id = s.workspace)) <= 0)
		return rc;
	return event_by(call, .kind = EVENT_WORKSPACE_SNAPSHOT, .team = w.team,
			.actor = ACTOR_HOST, .subject = w.id, .target = w.agent,
			.detail = s.name);
}
