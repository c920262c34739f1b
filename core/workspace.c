#include "core/workspace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/id.h"
#include "core/link_address.h"
#include "core/team.h"
#include "core/who.h"

/* --- finding ------------------------------------------------------------------------- */

/* By its id or its own name, whatever its team. */
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

/* By its agent of the call's team, which `team/agent` has to name. */
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

int workspace_find(struct call *call, const char *team, const char *name,
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
		return fault_hint(&call->fault, "See them with: cadre workspace list.");
	}
	return 0;
}

/* For what runs in a workspace: it has to be up. */
static int reach(struct call *call, const char *team, const char *name)
{
	struct workspace_row w;
	int rc = workspace_find(call, team, name, &w);

	if (rc < 0)
		return rc;
	if (w.agent != call->caller.agent && (rc = who_leads(call, "/workspace")) < 0)
		return rc;
	if (w.state != WORKSPACE_STATE_READY) {
		fault_set(&call->fault, FAULT_UNAVAILABLE, "/workspace",
			  "workspace %s is %s", w.name,
			  word_of(&record_workspace, "state", w.state));
		return fault_hint(&call->fault, "Start it, or wait until it is ready.");
	}
	call->workspace = w.id;
	return 0;
}

/* --- telling ----------------------------------------------------------------------------- */

static void tell(struct call *call, const struct workspace_row *w, struct workspace *out)
{
	*out = (struct workspace){
		.id = id_public(call, ID_WORKSPACE, w->id, w->created_at),
		.name = w->name,
		.team = w->team_name,
		.agent = w->agent_name,
		.backend = w->backend,
		.state = w->state,
		.address = w->address,
		.parent = w->parent_name,
		.has_pid = w->pid != 0,
		.pid = w->pid,
		.created_at = w->created_at,
	};
	if (w->path)
		out->path = arena_printf(
			&call->arena, "%s/%s",
			call->settings->home ? call->settings->home : ".", w->path);
}

static int tell_row(struct call *call, int64_t row, struct workspace *out)
{
	struct workspace_row w;
	int rc = sql_row(call, workspace_by_id, &w, .id = row);

	if (rc > 0)
		tell(call, &w, out);
	return rc < 0 ? rc : 0;
}

int workspace_list(struct call *call, const struct workspace_list_in *in,
		   struct workspace_list_out *out)
{
	struct workspace_row w;
	struct query q;
	int rc;

	if ((rc = who_team(call, in->team)) < 0)
		return rc;
	sql_query(call, &q, workspace_lines, .team = call->caller.team, .all = in->all);
	while ((rc = sql_next(call, &q, &w)) > 0)
		tell(call, &w,
		     arena_push(&call->arena, &out->workspaces, &out->n_workspaces,
				sizeof(*out->workspaces)));
	return rc;
}

int workspace_info(struct call *call, const struct workspace_info_in *in,
		   struct workspace_info_out *out)
{
	struct workspace_row w;
	int rc = workspace_find(call, in->team, in->workspace, &w);

	if (rc >= 0)
		tell(call, &w, &out->workspace);
	return rc;
}

/* --- making ------------------------------------------------------------------------------- */

/* One try at a name: its four digits may be taken. */
static int add_named(struct call *call, const struct new_workspace *n, const char *name)
{
	return sql_run(call, workspace_add, .team = call->caller.team, .agent = n->agent,
		       .name = name, .backend = n->backend,
		       .path = n->address ? NULL
					  : arena_printf(&call->arena, "workspaces/%s",
							 name),
		       .address = n->address, .link_token = n->link_token,
		       .parent = n->parent, .source = n->source, .now = call->now);
}

/* Its agent works in it from now on. */
static int move_in(struct call *call, int64_t agent, int64_t row)
{
	int rc = sql_run(call, agent_set_workspace, .agent = agent, .workspace = row);

	return rc < 0 ? rc
		      : sql_run(call, agent_set_status, .agent = agent,
				.status = AGENT_STATUS_INITIALIZING, .now = call->now);
}

int workspace_add(struct call *call, const struct new_workspace *n, int64_t *id)
{
	uint64_t salt = (call->seed ^ (uint64_t)n->agent * 0x9e3779b97f4a7c15u) * 31;
	const char *name = NULL;
	int64_t row;
	int rc = 0;

	for (int tries = 0; tries < 64 && rc == 0; tries++) {
		name = arena_printf(&call->arena, "%s-%s-%04x", call->caller.team_name,
				    n->member, (unsigned)((salt >> 40) + tries) & 0xffff);
		rc = add_named(call, n, name);
	}
	if (rc <= 0)
		return rc < 0 ? rc
			      : fault_set(&call->fault, FAULT_CONFLICT, "",
					  "too many workspaces are named like %s", name);
	row = store_last_id(call->store);
	if (id)
		*id = row;
	if (n->agent && (rc = move_in(call, n->agent, row)) < 0)
		return rc;
	return event_emit(call, EVENT_WORKSPACE_CREATED, row, n->agent, name);
}

static int check_room(struct call *call)
{
	struct team_vms_row vms;
	struct vms_all_row all;
	struct team_row t;
	int rc;

	if ((rc = sql_row(call, team_by_id, &t, .id = call->caller.team)) < 0 ||
	    (rc = sql_row(call, team_vms, &vms, .team = t.id)) < 0 ||
	    (rc = sql_row(call, vms_all, &all)) < 0)
		return rc;
	if (vms.n >= t.max_vms ||
	    vms.n >= call->settings->config.limits_max_vms_per_team ||
	    all.n >= call->settings->config.limits_max_total_vms)
		return fault_set(&call->fault, FAULT_EXHAUSTED, "",
				 "team %s has %" PRId64 " of %" PRId64 " workspaces, the "
				 "host %" PRId64 " of %" PRId64,
				 t.name, vms.n, t.max_vms, all.n,
				 call->settings->config.limits_max_total_vms);
	return 0;
}

/* The member that a workspace is for: it works in one at a time. */
static int find_worker(struct call *call, const char *agent, struct agent_row *a)
{
	int rc;

	if (!agent)
		return 0;
	if ((rc = who_agent(call, agent, "/agent", a)) < 0)
		return rc;
	if (a->kind == 1)
		return fault_set(&call->fault, FAULT_INVALID, "/agent",
				 "the operator works outside workspaces");
	if (!a->workspace)
		return 0;
	fault_set(&call->fault, FAULT_CONFLICT, "/agent", "%s has a workspace already",
		  a->name);
	return fault_hint(&call->fault, "Destroy that one first.");
}

static int make(struct call *call, const char *agent, struct new_workspace *n)
{
	struct agent_row a = { 0 };
	int rc;

	if ((rc = check_room(call)) < 0 || (rc = find_worker(call, agent, &a)) < 0)
		return rc;
	n->member = agent ? a.name : "free";
	n->agent = a.id;
	if ((rc = workspace_add(call, n, &call->made)) < 0)
		return rc;
	return team_announce(call, call->caller.team);
}

/* What of the arguments belongs to another backend. */
static int check_backend(struct call *call, const struct workspace_create_in *in)
{
	struct fault *f = &call->fault;
	struct link_address at;

	if (in->backend != BACKEND_KIND_ATTACH && (in->address || in->token))
		return fault_set(f, FAULT_INVALID, in->address ? "/address" : "/token",
				 "only a guest to attach has one");
	if (in->backend != BACKEND_KIND_ATTACH)
		return 0;
	if (!in->address)
		return fault_set(f, FAULT_INVALID, "/address",
				 "a guest to attach needs an address");
	if (in->source)
		return fault_set(f, FAULT_INVALID, "/source",
				 "nothing is copied to a guest that runs already");
	if (link_parse(in->address, "/address", &at, f))
		return f->code;
	if (at.kind == LINK_VSOCK && at.number == LINK_CID_ANY)
		return fault_set(f, FAULT_INVALID, "/address",
				 "a guest to attach has a CID of its own");
	if ((at.kind == LINK_TCP) == !in->token)
		return fault_set(f, FAULT_INVALID, "/token",
				 in->token ? "only a guest at a TCP address has one"
					   : "a guest at a TCP address needs one");
	return 0;
}

int workspace_create(struct call *call, const struct workspace_create_in *in,
		     struct workspace_create_out *out)
{
	struct new_workspace n = {
		.backend = in->backend,
		.source = in->source,
		.address = in->address,
		.link_token = in->token,
	};
	int rc;

	if ((rc = who_team(call, in->team)) < 0 || (rc = check_backend(call, in)) < 0 ||
	    (!call->made && (rc = make(call, in->agent, &n)) < 0))
		return rc;
	return tell_row(call, call->made, &out->workspace);
}

static int is_over(struct call *call, const struct workspace_row *w)
{
	return w->state == WORKSPACE_STATE_DESTROYED
		       ? fault_set(&call->fault, FAULT_CONFLICT, "/workspace",
				   "workspace %s is destroyed", w->name)
		       : 0;
}

static int can_fork(struct call *call, const struct workspace_row *w)
{
	int rc = is_over(call, w);

	if (rc < 0 || w->path)
		return rc;
	return fault_set(&call->fault, FAULT_CONFLICT, "/workspace",
			 "the guest of workspace %s runs elsewhere: it cannot be copied",
			 w->name);
}

int workspace_fork(struct call *call, const struct workspace_fork_in *in,
		   struct workspace_fork_out *out)
{
	struct new_workspace n = { 0 };
	struct workspace_row w;
	int rc;

	if ((rc = workspace_find(call, in->team, in->workspace, &w)) < 0)
		return rc;
	if (!call->made && (rc = can_fork(call, &w)) < 0)
		return rc;
	n.backend = w.backend;
	n.parent = w.id;
	if (w.path)
		n.source =
			arena_printf(&call->arena, "%s/%s", call->settings->home, w.path);
	if (!call->made && (rc = make(call, in->agent, &n)) < 0)
		return rc;
	return tell_row(call, call->made, &out->workspace);
}

static int set_state(struct call *call, const struct workspace_row *w, int64_t state,
		     int event)
{
	int rc = sql_run(call, workspace_set_state, .id = w->id, .state = state,
			 .now = call->now);

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
	    (rc = is_over(call, &w)) < 0)
		return rc;
	if (w.state != WORKSPACE_STATE_READY &&
	    (rc = set_state(call, &w, WORKSPACE_STATE_CREATING, 0)) < 0)
		return rc;
	return tell_row(call, w.id, &out->workspace);
}

int workspace_stop(struct call *call, const struct workspace_stop_in *in,
		   struct workspace_stop_out *out)
{
	struct workspace_row w;
	int rc;

	if ((rc = workspace_find(call, in->team, in->workspace, &w)) < 0 ||
	    (rc = set_state(call, &w, WORKSPACE_STATE_STOPPED, EVENT_WORKSPACE_STOPPED)) <
		    0)
		return rc;
	return tell_row(call, w.id, &out->workspace);
}

int workspace_destroy(struct call *call, const struct workspace_destroy_in *in,
		      struct workspace_destroy_out *out)
{
	struct workspace_row w;
	int rc;

	if (!call->made) {
		if ((rc = workspace_find(call, in->team, in->workspace, &w)) < 0 ||
		    (rc = set_state(call, &w, WORKSPACE_STATE_DESTROYED,
				    EVENT_WORKSPACE_DESTROYED)) < 0 ||
		    (w.agent && (rc = sql_run(call, agent_set_workspace, .agent = w.agent,
					      .workspace = 0)) < 0))
			return rc;
	}
	return tell_row(call, call->made, &out->workspace);
}

/* --- what the host does in them: checked here, done there ------------------------------------ */

/* Whether a repeat with the same key does no harm, and so may run again. */
enum repeat { ANY_TIMES, ONCE };

static int reach_for(struct call *call, const char *team, const char *name,
		     enum repeat repeat)
{
	if (call->replayed) {
		fault_set(&call->fault, FAULT_CONFLICT, "/idempotency_key",
			  "this was begun under this key already");
		return fault_hint(&call->fault, "Look at what it did; a new key runs it "
						"again.");
	}
	if (repeat == ONCE)
		call->made = 1;
	return reach(call, team, name);
}

#define REACHES(verb, repeat)                                                           \
	int workspace_##verb(struct call *call, const struct workspace_##verb##_in *in, \
			     struct workspace_##verb##_out *out)                        \
	{                                                                               \
		(void)out;                                                              \
		return reach_for(call, in->team, in->workspace, repeat);                \
	}

/* clang-format off */
REACHES(exec, ONCE)
REACHES(exec_background, ONCE)
REACHES(exec_poll, ANY_TIMES)
REACHES(exec_kill, ONCE)
REACHES(file_read, ANY_TIMES)
REACHES(file_write, ANY_TIMES)
REACHES(file_edit, ONCE)
REACHES(list_dir, ANY_TIMES)
REACHES(set_env, ANY_TIMES)
/* clang-format on */

/* --- what the host sees ----------------------------------------------------------------------- */

static int note_state(struct call *call, const struct workspace_row *w,
		      const struct workspace_note_in *in)
{
	static const int events[] = {
		[WORKSPACE_STATE_READY] = EVENT_WORKSPACE_READY,
		[WORKSPACE_STATE_STOPPED] = EVENT_WORKSPACE_STOPPED,
		[WORKSPACE_STATE_FAILED] = EVENT_WORKSPACE_FAILED,
		[WORKSPACE_STATE_DESTROYED] = EVENT_WORKSPACE_DESTROYED,
	};
	int rc = sql_run(call, workspace_set_state, .id = w->id, .state = in->state,
			 .now = call->now);

	if (rc <= 0 || !events[in->state])
		return rc;
	rc = event_by(call, .kind = events[in->state], .team = w->team,
		      .actor = ACTOR_HOST, .subject = w->id, .target = w->agent,
		      .detail = in->detail);
	return rc < 0 ? rc : 1;
}

static int note_agent(struct call *call, const struct workspace_row *w, int64_t status)
{
	int rc = sql_run(call, agent_set_status, .agent = w->agent, .status = status,
			 .now = call->now);

	if (rc <= 0)
		return rc;
	rc = event_by(call, .kind = EVENT_AGENT_STATUS, .team = w->team,
		      .actor = ACTOR_HOST, .subject = w->agent,
		      .detail = word_of(&record_agent_line, "status", status));
	return rc < 0 ? rc : 1;
}

int workspace_note(struct call *call, const struct workspace_note_in *in,
		   struct workspace_note_out *out)
{
	struct workspace_row w;
	int rc = sql_row(call, workspace_by_id, &w, .id = in->workspace);

	if (rc <= 0)
		return rc;
	if (in->has_pid && (rc = sql_run(call, workspace_set_process, .id = w.id,
					 .pid = in->pid, .pid_start = in->pid_start,
					 .machine_boot = in->machine_boot)) < 0)
		return rc;
	if (in->guest_boot && (rc = sql_run(call, workspace_set_boot, .id = w.id,
					    .guest_boot = in->guest_boot)) < 0)
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
		bool up = in->has_state && in->state == WORKSPACE_STATE_READY;

		if ((rc = note_agent(call, &w,
				     up ? AGENT_STATUS_READY : AGENT_STATUS_OFFLINE)) < 0)
			return rc;
		out->changed |= rc > 0;
	}
	return team_announce(call, w.team);
}

int workspace_rows(struct call *call, const struct workspace_rows_in *in,
		   struct workspace_rows_out *out)
{
	struct workspace_rows_row r;
	struct query q;
	int rc;

	sql_query(call, &q, workspace_rows, .after = in->after, .limit = 1000);
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
		};
	}
	return rc;
}
