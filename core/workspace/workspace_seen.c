/*
 * workspace_seen - records the states of workspaces that the host reports, and lists
 * the rows that it needs.
 */
#include <string.h>

#include "core/assignment/assignment.h"
#include "core/call/id.h"
#include "core/team/team.h"
#include "core/turn/chain.h"
#include "core/turn/turn.h"
#include "core/workspace/workspace.h"

/* A runner takes no turns while its workspace has failed: its lead and the operator are told. */
static int note_to_lead(struct call *call, const struct workspace_row *w,
			const struct workspace_note_in *in)
{
	struct agent_row a;
	int rc = w->agent ? sql_row(call, agent_by_id, &a, .id = w->agent) : 0;

	if (rc <= 0 || a.gone || !a.runs)
		return rc < 0 ? rc : 0;
	return team_tell(
		call, w->team, "runner",
		arena_printf(
			&call->arena,
			"%s takes no turns: its workspace has failed (%s). Its mail "
			"waits. %s%s%s",
			a.name, in->detail ? in->detail : "see `cadre logs`",
			in->again ? a.name : "Start it again: `cadre workspace start ",
			in->again ? " goes on when what is missing is there." : w->name,
			in->again ? "" : "`."),
		CHAIN_NOTICE);
}

static int note_state(struct call *call, const struct workspace_row *w,
		      const struct workspace_note_in *in)
{
	static const int events[] = {
		[WORKSPACE_STATE_CREATING] = 0,
		[WORKSPACE_STATE_READY] = EVENT_WORKSPACE_READY,
		[WORKSPACE_STATE_STOPPED] = EVENT_WORKSPACE_STOPPED,
		[WORKSPACE_STATE_FAILED] = EVENT_WORKSPACE_FAILED,
		[WORKSPACE_STATE_DESTROYED] = EVENT_WORKSPACE_DESTROYED,
	};
	const bool failed = in->state == WORKSPACE_STATE_FAILED;
	int rc;

	/* Only a failed workspace is made once more: a caller may have stopped the
	 * workspace meanwhile. */
	if (in->state == WORKSPACE_STATE_CREATING && w->state != WORKSPACE_STATE_FAILED)
		return 0;
	rc = workspace_change(call, w->id, in->state, failed ? in->detail : NULL,
			      in->again);
	if (rc <= 0 || !events[in->state])
		return rc;
	rc = event_by(call, .kind = events[in->state], .team = w->team,
		      .actor = ACTOR_HOST, .subject = w->id, .target = w->agent,
		      .detail = in->detail);
	if (rc >= 0 && failed)
		rc = note_to_lead(call, w, in);
	return rc < 0 ? rc : 1;
}

static int note_agent(struct call *call, const struct workspace_row *w, int64_t status)
{
	int rc = runner_rest(call, w->agent, &status);

	if (rc == 0)
		rc = sql_run(call, agent_set_status, .agent = w->agent, .status = status,
			     .now = call->now);
	if (rc <= 0)
		return rc;
	rc = event_by(call, .kind = EVENT_AGENT_STATUS, .team = w->team,
		      .actor = ACTOR_HOST, .subject = w->agent,
		      .detail = field_choice(&record_agent_line, "status", status));
	return rc < 0 ? rc : 1;
}

/* The status of the agent of a workspace: one whose workspace never was up could not start. */
static int64_t status_in(const struct workspace_row *w,
			 const struct workspace_note_in *in)
{
	if (in->has_state && in->state == WORKSPACE_STATE_READY)
		return AGENT_STATUS_READY;
	return in->has_state && in->state == WORKSPACE_STATE_FAILED && !w->was_up
		       ? AGENT_STATUS_FAILED
		       : AGENT_STATUS_OFFLINE;
}

/* Records the address of the HTTP door, which the card of the workspace's agent shows. */
static int note_door(struct call *call, const struct workspace_row *w, const char *http)
{
	int rc = sql_run(call, workspace_set_http, .id = w->id, .http = http);

	if (rc <= 0 || !w->agent)
		return rc;
	return event_by(call, .kind = EVENT_AGENT_UPDATED, .team = w->team,
			.actor = ACTOR_HOST, .subject = w->agent);
}

static int note_restored(struct call *call, const struct workspace_row *w,
			 const char *snapshot)
{
	int64_t row, at;
	int rc = id_parse(call, ID_SNAPSHOT, snapshot, &row, &at);

	return rc <= 0 ? rc
		       : sql_run(call, workspace_restored, .id = w->id, .snapshot = row);
}

/* Says why a guest's spool is not the one that accepted assignments, or a copy of it from
 * an earlier time; NULL: it is the same.  Before spools had identities, a workspace's id
 * stood for the one that it had. */
static const char *spool_trouble(struct call *call, const struct workspace_row *w,
				 const struct workspace_note_in *in)
{
	const char *before = w->spool;

	if (!before && *in->spool)
		before = id_public(call, ID_WORKSPACE, w->id, w->created_at);
	if (before && strcmp(before, in->spool) != 0)
		return "interrupted: the guest's spool was lost";
	if (before && in->has_spool_seq && in->spool_seq < w->spool_seq)
		return "interrupted: an older copy of the guest's spool was put back";
	return NULL;
}

/* Assignments that a lost or older spool accepted may have run: they end, and no guest is
 * told of them again. */
static int workspace_seen_note_spool(struct call *call, const struct workspace_row *w,
				     const struct workspace_note_in *in)
{
	const char *trouble = spool_trouble(call, w, in);
	int rc;

	if (trouble && w->agent &&
	    (rc = assignment_interrupt(call, w->agent, trouble)) < 0)
		return rc;
	rc = sql_run(call, workspace_set_spool, .id = w->id, .spool = in->spool,
		     .seq = in->spool_seq);
	return rc < 0 ? rc : 0;
}

/* Records the guest's process.  An event tells callers that wait for the process to
 * end. */
static int note_process(struct call *call, const struct workspace_row *w,
			const struct workspace_note_in *in)
{
	int rc = sql_run(call, workspace_set_process, .id = w->id, .pid = in->pid,
			 .pid_start = in->pid_start, .machine_boot = in->machine_boot,
			 .cid = in->cid);

	if (rc < 0 || in->pid || !w->pid)
		return rc;
	return event_by(call, .kind = EVENT_WORKSPACE_DOWN, .team = w->team,
			.actor = ACTOR_HOST, .subject = w->id, .target = w->agent);
}

int workspace_note(struct call *call, const struct workspace_note_in *in,
		   struct workspace_note_out *out)
{
	struct workspace_row w;
	int rc = sql_row(call, workspace_by_id, &w, .id = in->workspace);

	if (rc <= 0)
		return rc;
	if (in->has_pid && (rc = note_process(call, &w, in)) < 0)
		return rc;
	if (in->restored && (rc = note_restored(call, &w, in->restored)) < 0)
		return rc;
	if (in->has_halted && (rc = sql_run(call, workspace_set_halted, .id = w.id,
					    .halted = in->halted)) < 0)
		return rc;
	if (in->died && w.agent &&
	    (rc = sql_run(call, workspace_died, .agent = w.agent, .now = call->now)) < 0)
		return rc;
	if (in->guest_boot && (rc = sql_run(call, workspace_set_boot, .id = w.id,
					    .guest_boot = in->guest_boot)) < 0)
		return rc;
	if (in->spool && (rc = workspace_seen_note_spool(call, &w, in)) < 0)
		return rc;
	if (in->http && (rc = note_door(call, &w, in->http)) < 0)
		return rc;
	if (in->restarted &&
	    (rc = event_by(call, .kind = EVENT_WORKSPACE_RESTARTED, .team = w.team,
			   .actor = ACTOR_HOST, .subject = w.id, .target = w.agent,
			   .detail = in->detail)) < 0)
		return rc;
	if (in->has_state) {
		if ((rc = note_state(call, &w, in)) < 0)
			return rc;
		out->changed = rc > 0;
	}
	if (w.agent && (in->offline || (in->has_state && out->changed))) {
		if ((rc = note_agent(call, &w, status_in(&w, in))) < 0)
			return rc;
		out->changed |= rc > 0;
	}
	return team_announce(call, w.team);
}

static const char *id_if(struct call *call, enum id_noun noun, int64_t row, int64_t at)
{
	return row ? id_public(call, noun, row, at) : NULL;
}

int workspace_rows(struct call *call, const struct workspace_rows_in *in,
		   struct workspace_rows_out *out)
{
	struct workspace_rows_row r;
	struct query q;
	int rc;

	sql_query(call, &q, workspace_rows, .after = in->after,
		  .host = store_host(call->store), .limit = WORKSPACE_ROWS);
	while ((rc = sql_next(call, &q, &r)) > 0) {
		struct host_workspace *w =
			arena_push(&call->arena, &out->rows, &out->n_rows, sizeof(*w));

		*w = (struct host_workspace){
			.row = r.id,
			.id = id_public(call, ID_WORKSPACE, r.id, r.created_at),
			.name = r.name,
			.team = r.team_name,
			.team_row = r.team,
			.agent = r.agent_name,
			.has_agent_row = r.agent != 0,
			.agent_row = r.agent,
			.has_generation = r.agent != 0,
			.generation = r.generation,
			.backend = r.backend,
			.path = r.path,
			.address = r.address,
			.link_token = r.link_token,
			.source = r.source,
			.state = r.state,
			.was_up = r.was_up,
			.has_pid = r.pid != 0,
			.pid = r.pid,
			.has_pid_start = r.pid_start != 0,
			.pid_start = r.pid_start,
			.machine_boot = r.machine_boot,
			.guest_boot = r.guest_boot,
			.spool = r.spool,
			.spool_seq = r.spool_seq,
			.stopped = r.stopped,
			.halted = r.halted,
			.has_cid = r.cid != 0,
			.cid = r.cid,
			.has_slot = r.slot != 0,
			.slot = r.slot,
			.image = r.image,
			.vcpus = r.vcpus,
			.memory_mb = r.memory_mb,
			.disk_gb = r.disk_gb,
			.has_parent_row = r.parent != 0,
			.parent_row = r.parent,
			.parent = id_if(call, ID_WORKSPACE, r.parent, r.parent_at),
			.snapshot = id_if(call, ID_SNAPSHOT, r.snapshot, r.snapshot_at),
			.restores = r.restores,
			.again = r.again,
			.restore = id_if(call, ID_SNAPSHOT, r.restore, r.restore_at),
		};
	}
	return rc;
}
