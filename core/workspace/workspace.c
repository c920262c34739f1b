#include "core/workspace/workspace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/access/who.h"
#include "core/assignment/assignment.h"
#include "core/call/id.h"
#include "core/call/space.h"
#include "core/team/estop.h"
#include "core/team/team.h"
#include "core/turn/chain.h"
#include "core/turn/turn.h"
#include "core/workspace/workspace_removal.h"

/* --- finding ------------------------------------------------------------------------- */

/* Finds the row of a workspace of any team by the workspace's id or name. Returns 1 if the row
 * is found, 0 if not, or a negative fault code. */
static int row_by_name(struct call *call, const char *name, int64_t *row)
{
	struct workspace_by_name_row by_name;
	int64_t at;
	int rc = id_parse(call, ID_WORKSPACE, name, row, &at);

	if (rc)
		return rc;
	if ((rc = sql_row(call, workspace_by_name, &by_name, .name = name)) > 0)
		*row = by_name.id;
	return rc;
}

/* Finds a workspace of the call's team by the name of the workspace's agent. In a name
 * TEAM/AGENT, TEAM must be the call's team. */
static int row_by_agent(struct call *call, const char *name, int64_t *row)
{
	struct workspace_by_agent_row by_agent;
	size_t own = strlen(call->caller.team_name);
	int rc;

	if (strchr(name, '/')) {
		if (strncmp(name, call->caller.team_name, own) != 0 || name[own] != '/')
			return 0;
		name += own + 1;
	}
	rc = sql_row(call, workspace_by_agent, &by_agent, .team = call->caller.team,
		     .name = name);
	if (rc > 0)
		*row = by_agent.id;
	return rc;
}

static int workspace_find_whole(struct call *call, const char *team, const char *name,
				struct workspace_row *w)
{
	int64_t row;
	int found = row_by_name(call, name, &row), rc;

	if (found > 0)
		found = sql_row(call, workspace_by_id, w, .id = row);
	if (found > 0 && !team && who_roams(call))
		team = w->team_name;
	if (found < 0)
		return found;
	if ((rc = who_team_of(call, team, name, "/workspace")) < 0)
		return rc;
	rc = found ? found : row_by_agent(call, name, &row);
	if (!found && rc > 0)
		rc = sql_row(call, workspace_by_id, w, .id = row);
	if (rc < 0)
		return rc;
	if (rc == 0 || w->team != call->caller.team) {
		fault_set(&call->fault, FAULT_NOT_FOUND, "/workspace",
			  "there is no workspace %s in team %s", name,
			  call->caller.team_name);
		return fault_hint(&call->fault, "See them with: {workspace.list}.");
	}
	return 0;
}

/* Finds the whole id that begins with `name`, after the search for a workspace with the name
 * `name` has failed. Searches the call's team or, with `any_team`, all teams. If no id begins
 * with `name`, call->fault stays unchanged. */
static int find_short(struct call *call, bool any_team, const char *name, const char **id)
{
	const struct id_among among = {
		.noun = ID_WORKSPACE,
		.own = any_team ? 0 : call->caller.team,
		.where = "/workspace",
	};
	const struct fault why = call->fault;
	int rc;

	call->fault = (struct fault){ 0 };
	rc = id_short(call, &among, name, id);
	if (rc == 0)
		call->fault = why;
	return rc;
}

int workspace_find(struct call *call, const char *team, const char *name,
		   struct workspace_row *w)
{
	const bool any_team = !team && who_roams(call);
	int rc = workspace_find_whole(call, team, name, w);

	if ((rc != FAULT_NOT_FOUND && rc != FAULT_INVALID) ||
	    (!any_team && strcmp(call->fault.where, "/workspace") != 0))
		return rc;
	if ((rc = find_short(call, any_team, name, &name)) <= 0)
		return call->fault.code;
	return workspace_find_whole(call, team, name, w);
}

int workspace_find_any(struct call *call, const char *name, struct workspace_row *w)
{
	const struct id_among all = { .noun = ID_WORKSPACE, .where = "/workspace" };
	const char *slash = strchr(name, '/');
	struct workspace_by_address_row found;
	int64_t row;
	int rc = row_by_name(call, name, &row);

	if (rc == 0 && slash &&
	    (rc = sql_row(call, workspace_by_address, &found,
			  .team_name = arena_strndup(&call->arena, name,
						     (size_t)(slash - name)),
			  .name = slash + 1)) > 0)
		row = found.id;
	if (rc == 0 && (rc = id_short(call, &all, name, &name)) > 0)
		rc = row_by_name(call, name, &row);
	if (rc > 0)
		rc = sql_row(call, workspace_by_id, w, .id = row);
	if (rc == 0)
		return fault_set(&call->fault, FAULT_NOT_FOUND, "/workspace",
				 "there is no workspace %s", name);
	return rc < 0 ? rc : 0;
}

int workspace_is_here(struct call *call, const struct workspace_row *w, const char *where)
{
	if (w->host == store_host(call->store))
		return 0;
	fault_set(&call->fault, FAULT_UNAVAILABLE, where,
		  "another host runs workspace %s: %s", w->name, w->host_name);
	return fault_hint(&call->fault, "Make the call on that host's machine.");
}

/* Checks that an operation may work in the workspace, and that the workspace is ready. */
static int workspace_reach(struct call *call, const char *team, const char *name)
{
	struct workspace_row w;
	int rc = workspace_find(call, team, name, &w);

	if (rc < 0)
		return rc;
	if (w.agent != call->caller.agent &&
	    (rc = who_leads(call, "/workspace", "the workspace's agent",
			    "use the workspace")) < 0)
		return rc;
	if ((rc = workspace_is_here(call, &w, "/workspace")) < 0)
		return rc;
	if (w.state != WORKSPACE_STATE_READY) {
		fault_set(&call->fault, FAULT_UNAVAILABLE, "/workspace",
			  "workspace %s is %s", w.name,
			  field_choice(&record_workspace, "state", w.state));
		return fault_hint(&call->fault,
				  "Start the workspace, or wait until it is ready; "
				  "`cadre logs` shows why a guest does not start.");
	}
	call->workspace.asked = w.id;
	return 0;
}

/* --- telling ----------------------------------------------------------------------------- */

void workspace_tell_row(struct call *call, const struct workspace_row *w,
			struct workspace *out)
{
	bool here = w->host == store_host(call->store);

	*out = (struct workspace){
		.id = id_public(call, ID_WORKSPACE, w->id, w->created_at),
		.name = w->name,
		.team = w->team_name,
		.agent = w->agent_name,
		.host = here ? NULL : w->host_name,
		.backend = w->backend,
		.state = w->state,
		.source = here && !call->identity.agent ? w->source : NULL,
		.address = here ? w->address : NULL,
		.parent = w->parent_name,
		.image = w->image,
		.has_vcpus = w->vcpus != 0,
		.vcpus = w->vcpus,
		.has_memory_mb = w->memory_mb != 0,
		.memory_mb = w->memory_mb,
		.has_disk_gb = w->disk_gb != 0,
		.disk_gb = w->disk_gb,
		.has_pid = here && w->pid != 0,
		.pid = w->pid,
		.fault = w->fault,
		.halted = w->halted,
		.created_at = w->created_at,
	};
	if (w->path && here)
		out->path = *w->path == '/' ? w->path
					    : arena_printf(&call->arena, "%s/%s",
							   call->settings->home
								   ? call->settings->home
								   : ".",
							   w->path);
}

int workspace_tell(struct call *call, int64_t row, struct workspace *out)
{
	struct workspace_row w;
	int rc = sql_row(call, workspace_by_id, &w, .id = row);

	if (rc > 0)
		workspace_tell_row(call, &w, out);
	return rc < 0 ? rc : 0;
}

int workspace_info(struct call *call, const struct workspace_info_in *in,
		   struct workspace_info_out *out)
{
	struct workspace_row w;
	int rc = workspace_find(call, in->team, in->workspace, &w);

	if (rc >= 0)
		workspace_tell_row(call, &w, &out->workspace);
	return rc;
}

/* --- moving ------------------------------------------------------------------------------- */

int workspace_is_over(struct call *call, const struct workspace_row *w)
{
	return w->state == WORKSPACE_STATE_DESTROYED
		       ? fault_set(&call->fault, FAULT_CONFLICT, "/workspace",
				   "workspace %s is destroyed", w->name)
		       : 0;
}

int workspace_change(struct call *call, int64_t row, int64_t state, const char *fault,
		     bool again)
{
	struct workspace_was_row was;
	int rc = sql_row(call, workspace_was, &was, .id = row);

	if (rc <= 0 ||
	    (rc = sql_run(call, workspace_set_state, .id = row, .state = state,
			  .fault = fault, .again = again, .now = call->now)) <= 0)
		return rc;
	return sql_run(call, board_add_vms, .team = was.team,
		       .vms = -(state == WORKSPACE_STATE_DESTROYED),
		       .guests = (state == WORKSPACE_STATE_READY) -
				 (was.state == WORKSPACE_STATE_READY));
}

static int set_state(struct call *call, const struct workspace_row *w, int64_t state,
		     int event)
{
	int rc = workspace_change(call, w->id, state, NULL, false);

	call->made = w->id;
	if (rc > 0 && event)
		rc = event_emit(call, event, w->id, w->agent, NULL);
	return rc < 0 ? rc : team_announce(call, call->caller.team);
}

int workspace_start(struct call *call, const struct workspace_start_in *in,
		    struct workspace_start_out *out)
{
	struct workspace_row w;
	int rc;

	if ((rc = workspace_find(call, in->team, in->workspace, &w)) < 0 ||
	    (rc = workspace_is_over(call, &w)) < 0)
		return rc;
	if (!call->made && w.state != WORKSPACE_STATE_READY &&
	    (rc = set_state(call, &w, WORKSPACE_STATE_CREATING, 0)) < 0)
		return rc;
	call->made = w.id;
	return workspace_tell(call, w.id, &out->workspace);
}

int workspace_stop(struct call *call, const struct workspace_stop_in *in,
		   struct workspace_stop_out *out)
{
	struct workspace_row w;
	int rc;

	if ((rc = workspace_find(call, in->team, in->workspace, &w)) < 0)
		return rc;
	if (!call->made && (rc = set_state(call, &w, WORKSPACE_STATE_STOPPED,
					   EVENT_WORKSPACE_STOPPED)) < 0)
		return rc;
	return workspace_tell(call, w.id, &out->workspace);
}

/* Changes the status of the agent whose workspace has ended. The agent is set to offline,
 * unless the agent's status is `done` or `failed`, or the agent works in another workspace now. */
static int move_out(struct call *call, const struct workspace_row *w)
{
	const int64_t status = AGENT_STATUS_OFFLINE;
	struct agent_row a;
	int rc = sql_row(call, agent_by_id, &a, .id = w->agent);

	if (rc <= 0 || a.workspace != w->id)
		return rc;
	rc = sql_run(call, agent_set_workspace, .agent = a.id, .workspace = 0);
	if (rc < 0 || a.status == AGENT_STATUS_DONE || a.status == AGENT_STATUS_FAILED)
		return rc;
	rc = sql_run(call, agent_set_status, .agent = a.id, .status = status,
		     .now = call->now);
	return rc <= 0 ? rc
		       : event_emit(call, EVENT_AGENT_STATUS, a.id, 0,
				    field_choice(&record_agent_line, "status", status));
}

int workspace_end(struct call *call, const struct workspace_row *w)
{
	int rc = set_state(call, w, WORKSPACE_STATE_DESTROYED, EVENT_WORKSPACE_DESTROYED);

	if (rc < 0 || !w->agent)
		return rc;
	rc = assignment_interrupt(call, w->agent,
				  "interrupted: its workspace was destroyed");
	return rc < 0 ? rc : move_out(call, w);
}

int workspace_destroy(struct call *call, const struct workspace_destroy_in *in,
		      struct workspace_destroy_out *out)
{
	struct workspace_row w;
	int rc;

	if (call->plans && !call->made) {
		if ((rc = workspace_find(call, in->team, in->workspace, &w)) < 0)
			return rc;
		return removal_add(call, &w);
	}
	out->note = removal_tell(call);
	if (!call->made) {
		if ((rc = workspace_find(call, in->team, in->workspace, &w)) < 0 ||
		    (rc = workspace_end(call, &w)) < 0)
			return rc;
	}
	return workspace_tell(call, call->made, &out->workspace);
}

/* --- work of the host in workspaces: the checks before it ------------------------- */

/* The kinds of operations. The kind decides how a call is answered if an earlier call had the
 * same key. If the guest's answer to the earlier call is stored, the repeated call returns this
 * answer. If no answer is stored, an operation of READS or AGAIN runs once more, and a repeat
 * of any other operation is refused. A call of READS stores no key. A call of AGAIN writes the
 * same content again. An operation of RUNS is also refused to agents of a stopped team, but not
 * to the operator. */
enum repeat { READS, AGAIN, ONCE, RUNS };

static int begun(struct call *call)
{
	struct workspace_row w = { 0 };
	int rc = sql_row(call, workspace_by_id, &w, .id = call->made);

	if (rc < 0)
		return rc;
	fault_set(&call->fault, FAULT_CONFLICT, "/idempotency_key",
		  "a call with this key began already, in workspace %s "
		  "of team %s, and its answer is not kept",
		  rc ? w.name : "?", rc ? w.team_name : "?");
	return fault_hint(&call->fault,
			  "The first call still runs, or its answer was lost. "
			  "Repeat the call later, or look at the workspace. "
			  "A call with a new key is done again.");
}

/* Checks that the caller's team is not stopped. Then raises the chain number of the workspace's
 * agent, because the caller gives this agent a command. */
static int check_run(struct call *call)
{
	struct workspace_row w;
	int rc = estop_check(call, "/workspace");

	if (rc < 0 ||
	    (rc = sql_row(call, workspace_by_id, &w, .id = call->workspace.asked)) <= 0)
		return rc;
	return w.agent ? chain_give(call, w.agent) : 0;
}

static int reach_for(struct call *call, const char *team, const char *name,
		     enum repeat repeat)
{
	int rc;

	if (call->replayed && call->answer)
		return 0;
	if (call->replayed && repeat >= ONCE)
		return begun(call);
	call->replayed = false;
	rc = workspace_reach(call, team, name);
	if (rc >= 0 && repeat == RUNS && call->identity.agent)
		rc = check_run(call);
	if (repeat != READS)
		call->made = call->workspace.asked;
	return rc;
}

#define REACHES(verb, repeat)                                                           \
	int workspace_##verb(struct call *call, const struct workspace_##verb##_in *in, \
			     struct workspace_##verb##_out *out)                        \
	{                                                                               \
		(void)out;                                                              \
		return reach_for(call, in->team, in->workspace, repeat);                \
	}

/* clang-format off */
REACHES(exec, RUNS)
REACHES(exec_background, RUNS)
REACHES(exec_poll, READS)
REACHES(exec_kill, ONCE)
REACHES(file_read, READS)
REACHES(file_edit, ONCE)
REACHES(list_dir, READS)
REACHES(set_env, AGAIN)
/* clang-format on */

int workspace_file_write(struct call *call, const struct workspace_file_write_in *in,
			 struct workspace_file_write_out *out)
{
	(void)out;
	if (!in->content == !in->text)
		return fault_set(&call->fault, FAULT_INVALID, "/content",
				 "give either `text`, or `content` in base64");
	return reach_for(call, in->team, in->workspace, AGAIN);
}

int workspace_answered(struct call *call, const struct workspace_answered_in *in,
		       struct workspace_answered_out *out)
{
	(void)out;
	return call_keep_answer(call, in->key, in->caller, in->asked, in->answer);
}

/*
 * These functions store the states of workspaces that the host reports, and list the rows that
 * the host needs.
 */

/* Tells the lead and the operator that a workspace has failed, if the workspace's agent has a
 * runner. Without the workspace, the agent takes no turns. */
static int note_to_lead(struct call *call, const struct workspace_row *w,
			const struct workspace_note_in *in)
{
	struct agent_row a;
	int rc = w->agent ? sql_row(call, agent_by_id, &a, .id = w->agent) : 0;

	if (rc <= 0 || a.gone || !a.runs)
		return rc < 0 ? rc : 0;
	return team_tell(
		call, w->team, "runner",
		arena_printf(&call->arena,
			     "%s takes no turns: its workspace has failed (%s). Its mail "
			     "waits. %s%s%s",
			     a.name, in->detail ? in->detail : "see `cadre logs`",
			     in->again ? a.name
				       : "Start it again: `cadre workspace start ",
			     in->again ? " goes on when this is repaired." : w->name,
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

	/* Only a failed workspace returns to the state `creating`. A caller may have stopped
	 * the workspace meanwhile. */
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

/* The new status of a workspace's agent. If the workspace has failed and was never up, the
 * agent has failed, too. */
static int64_t status_in(const struct workspace_row *w,
			 const struct workspace_note_in *in)
{
	if (in->has_state && in->state == WORKSPACE_STATE_READY)
		return AGENT_STATUS_READY;
	return in->has_state && in->state == WORKSPACE_STATE_FAILED && !w->was_up
		       ? AGENT_STATUS_FAILED
		       : AGENT_STATUS_OFFLINE;
}

/* Stores the address of the HTTP door of a workspace's agent. The card of the workspace's agent
 * shows this address. */
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

/* Compares a guest's spool with the spool that accepted the assignments. Returns NULL if both
 * are the same spool, and the guest's spool is not an older copy. Otherwise returns the reason
 * why assignments are interrupted. If the workspace's row has no id of a spool, the function
 * compares the workspace's id instead. */
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

/* If the spool was lost or replaced by an older copy, ends the assignments that the spool had
 * accepted. These assignments may have run already, so no guest gets them again. Stores the id
 * of the guest's spool, and the spool's count of commands that were started or called off
 * (spool_seq). */
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

/* Stores the process of the guest. At the end of the process, an event wakes the callers that
 * wait for the end. */
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
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, workspace_rows, &r, .after = in->after,
			      .host = store_host(call->store), .limit = WORKSPACE_ROWS)) >
	       0) {
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

/* --- finding ------------------------------------------------------------------- */

/* Finds the snapshot `name` (name or id) of a workspace. Returns 0, or a negative code with a
 * fault at /snapshot. */
static int snapshot_find(struct call *call, const struct workspace_row *w,
			 const char *name, struct snapshot_row *s)
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
	struct query q = { 0 };
	int rc = workspace_find(call, in->team, in->workspace, &w);

	if (rc < 0)
		return rc;
	while ((rc = sql_each(call, &q, snapshot_lines, &s, .workspace = w.id,
			      .offset = in->offset)) > 0) {
		struct snapshot told;

		snapshot_tell(call, &s, &told);
		if (!space_put(call, out, snapshots, &record_snapshot, &told, INT64_MAX))
			break;
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
			 "the guest of workspace %s runs elsewhere: its files "
			 "cannot be kept",
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
		return fault_hint(
			&call->fault,
			failed ? "`cadre doctor` says why; then {workspace.start}."
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

/* Adds the row of a snapshot. The host then copies the files, and answers the call after the
 * copy is complete. */
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
		call->workspace.copied = w.id;
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
	if (call->made) /* another snapshot may have the name now */
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
		call->workspace.copied = w.id;
	return snapshot_tell_row(call, s.id, &out->snapshot);
}

/* Ends the assignments that the workspace's agent runs. The spool of the restored guest does
 * not contain these assignments. */
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
