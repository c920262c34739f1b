#include "core/team/member.h"

#include <string.h>

#include "core/access/who.h"
#include "core/agent/agent.h"
#include "core/assignment/assignment.h"
#include "core/task/task.h"
#include "core/team/budget.h"
#include "core/team/estop.h"
#include "core/team/team.h"
#include "core/turn/turn.h"
#include "core/workspace/workspace.h"

/* --- adding ------------------------------------------------------------------------- */

/* Returns the resources of the VMs that a role's members get. */
static struct vm_wishes wishes_of(const struct role *r)
{
	struct vm_wishes w = { r->image, r->vcpus, r->memory_mb, r->disk_gb };

	w.vcpus = r->resources.has_vcpus ? r->resources.vcpus : w.vcpus;
	w.memory_mb = r->resources.has_memory_mb ? r->resources.memory_mb : w.memory_mb;
	w.disk_gb = r->resources.has_disk_gb ? r->resources.disk_gb : w.disk_gb;
	return w;
}

/* Returns the backend of a role. If a role gives resources of a VM but no backend, the backend
 * is a VM. */
static enum backend_kind backend_of(const struct role *r)
{
	const struct vm_wishes w = wishes_of(r);

	if (r->has_backend)
		return r->backend;
	return w.image || w.vcpus || w.memory_mb || w.disk_gb ? BACKEND_KIND_QEMU
							      : BACKEND_KIND_PROCESS;
}

int member_check_role(struct call *call, const struct role *r, const char *where)
{
	const char *twice = NULL;

	if (r->has_vcpus && r->resources.has_vcpus)
		twice = "vcpus";
	else if (r->has_memory_mb && r->resources.has_memory_mb)
		twice = "memory_mb";
	else if (r->has_disk_gb && r->resources.has_disk_gb)
		twice = "disk_gb";
	return twice ? fault_set(&call->fault, FAULT_INVALID,
				 arena_printf(&call->arena, "%s/resources/%s", where,
					      twice),
				 "the role sets %s already, outside `resources`", twice)
		     : 0;
}

bool member_has_place(const struct call *call, const struct role *r)
{
	return (r->has_workspace ? r->workspace
				 : call->settings->config.team_workspaces) ||
	       backend_of(r) != BACKEND_KIND_PROCESS;
}

int member_check_host(struct call *call, const char *where)
{
	return call_need_host(call, where, "workspaces need");
}

/* Plans the workspace of a member with this role. The workspace has the role's backend. If
 * there is a golden workspace, the member's workspace is a copy of the golden workspace. */
static int plan_place(struct call *call, const struct role *r, const char *golden,
		      const char *snapshot, const char *where, struct new_workspace *w)
{
	const struct vm_wishes wishes = wishes_of(r);
	int rc;

	*w = (struct new_workspace){ .backend = backend_of(r) };
	if (w->backend == BACKEND_KIND_ATTACH || w->backend == BACKEND_KIND_FOLDER)
		return fault_set(
			&call->fault, FAULT_INVALID,
			arena_printf(&call->arena, "%s/backend", where),
			w->backend == BACKEND_KIND_FOLDER
				? "a member with a runner works in its project folder"
				: "attach a guest elsewhere with workspace create");
	if ((rc = workspace_set_golden(call, golden, snapshot, w)) < 0)
		return rc;
	if (w->backend == BACKEND_KIND_QEMU && w->source)
		return fault_set(&call->fault, FAULT_INVALID, "/golden",
				 "a VM is not a copy of a directory: see `cadre image "
				 "build --rootfs`");
	return workspace_set_vm(call, &wishes, where, w);
}

static int member_add_place(struct call *call, const struct role *r, const char *golden,
			    const char *snapshot, const char *where,
			    const struct newcomer *n)
{
	struct new_workspace w;
	int rc = plan_place(call, r, golden, snapshot, where, &w);

	w.member = n->name;
	w.agent = n->id;
	return rc < 0 ? rc : workspace_add(call, &w, NULL);
}

int member_add_role(struct call *call, const struct role *r, const char *golden,
		    const char *snapshot, const char *where)
{
	const char *at_name = arena_printf(&call->arena, "%s/name", where);
	int rc = 0;

	for (int64_t k = 1; k <= r->count && rc >= 0; k++) {
		struct newcomer n = { .name = r->name,
				      .role = r->role && *r->role ? r->role : r->name,
				      .description = r->description ? r->description : "",
				      .skills = r->skills,
				      .n_skills = r->n_skills,
				      .nests = r->nests };

		if (r->count > 1)
			n.name = arena_printf(&call->arena, "%s-%d", r->name, (int)k);
		if ((rc = agent_add(call, &n, at_name)) >= 0 && member_has_place(call, r))
			rc = member_add_place(call, r, golden, snapshot, where, &n);
		if (rc >= 0 && r->runner)
			rc = runner_give(call, n.id, r->runner,
					 arena_printf(&call->arena, "%s/runner", where));
	}
	return rc;
}

/* Returns the name of a role's first member. */
static const char *first_name(struct call *call, const struct role *r)
{
	return r->count > 1 ? arena_printf(&call->arena, "%s-1", r->name) : r->name;
}

static int take_in(struct call *call, const struct member_add_in *in)
{
	const struct role r = { .name = in->name,
				.role = in->role,
				.skills = in->skills,
				.n_skills = in->n_skills,
				.description = in->description,
				.count = in->count,
				.workspace = in->workspace,
				.has_workspace = in->has_workspace,
				.nests = in->nests,
				.has_backend = in->has_backend,
				.backend = in->backend,
				.image = in->image,
				.has_vcpus = in->has_vcpus,
				.vcpus = in->vcpus,
				.has_memory_mb = in->has_memory_mb,
				.memory_mb = in->memory_mb,
				.has_disk_gb = in->has_disk_gb,
				.disk_gb = in->disk_gb,
				.runner = in->runner };
	struct agent_row first;
	int rc;

	if ((rc = estop_check(call, "/team")) < 0 ||
	    (rc = budget_check(call, call->caller.team, "/team")) < 0 ||
	    (member_has_place(call, &r) &&
	     ((rc = member_check_host(call, "/workspace")) < 0 ||
	      (rc = workspace_check_room(call, r.count, "/workspace")) < 0)) ||
	    (rc = member_add_role(call, &r, in->golden, in->snapshot, "")) < 0 ||
	    (rc = sql_row(call, agent_by_name, &first, .team = call->caller.team,
			  .name = first_name(call, &r))) < 0)
		return rc;
	call->made = first.id;
	return team_announce(call, call->caller.team);
}

int member_tell_tokens(struct call *call, struct member *members, size_t n)
{
	for (size_t i = 0; i < n && !agent_is_client(call); i++) {
		struct agent_row a;
		int rc = sql_row(call, agent_by_name, &a, .team = call->caller.team,
				 .name = members[i].name);

		if (rc <= 0)
			return rc;
		members[i].token = agent_token(call, &a);
	}
	return 0;
}

/* Keeps only the members that the call names. When a call is repeated, other members may have
 * been added since the first call. */
static void keep_named(struct call *call, const struct member_add_in *in,
		       struct member_add_out *out)
{
	size_t kept = 0;

	for (size_t i = 0; i < out->n_members; i++)
		for (int64_t k = 1; k <= in->count; k++) {
			const char *name = in->count > 1
						   ? arena_printf(&call->arena, "%s-%d",
								  in->name, (int)k)
						   : in->name;

			if (strcmp(out->members[i].name, name) == 0)
				out->members[kept++] = out->members[i];
		}
	out->n_members = kept;
}

int member_add(struct call *call, const struct member_add_in *in,
	       struct member_add_out *out)
{
	bool more = false;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (!call->made && (rc = take_in(call, in)) < 0) ||
	    (rc = team_tell_members(call, false, call->made - 1, &out->members,
				    &out->n_members, &more)) < 0)
		return rc;
	if (more)
		return fault_set(&call->fault, FAULT_INVALID, "/count",
				 "the answer has no room for all members' tokens");
	keep_named(call, in, out);
	out->team = call->caller.team_name;
	return member_tell_tokens(call, out->members, out->n_members);
}

/* --- removing ----------------------------------------------------------------------- */

/* Moves the waiting mail of an agent to the agent `to`. Mail that is not moved becomes dead,
 * with an event for each message. */
static int move_mail(struct call *call, const struct agent_row *a, int64_t to)
{
	struct member_move_mail_row *moved = NULL;
	struct agent_discard_row *dead = NULL;
	size_t n_moved = 0, n_dead = 0;
	int rc;

	if ((rc = inbox_settle(call, a->id)) < 0 || (rc = inbox_unlease(call, a->id)) < 0)
		return rc;
	if (to)
		rc = sql_all(call, member_move_mail, &moved, &n_moved, .agent = a->id,
			     .to = to);
	if (to && rc >= 0)
		rc = sql_run(call, delayed_move, .agent = a->id, .to = to);
	for (size_t i = 0; i < n_moved && rc >= 0; i++)
		rc = event_emit(call, EVENT_MESSAGE_REQUEUED, moved[i].message, to, NULL);
	if (rc >= 0)
		rc = message_delayed_give_up(call, a->id, 0);
	if (rc >= 0)
		rc = sql_all(call, agent_discard, &dead, &n_dead, .agent = a->id,
			     .now = call->now);
	for (size_t i = 0; i < n_dead && rc >= 0; i++)
		rc = event_emit(call, EVENT_MESSAGE_DEAD, dead[i].message, a->id,
				"its recipient left the team");
	if (rc >= 0)
		rc = sql_run(call, agent_recount, .agent = a->id);
	return rc < 0 || !to ? rc : sql_run(call, agent_recount, .agent = to);
}

static int stop_place(struct call *call, const struct agent_row *a)
{
	int rc = 0;

	if (a->workspace)
		rc = workspace_change(call, a->workspace, WORKSPACE_STATE_STOPPED, NULL,
				      false);
	return rc <= 0 ? rc
		       : event_emit(call, EVENT_WORKSPACE_STOPPED, a->workspace, a->id,
				    NULL);
}

/* Finds the agent that gets a leaving member's mail. `to->id` is 0 if no agent gets the mail. */
static int find_heir(struct call *call, const char *name, const struct agent_row *a,
		     struct agent_row *to)
{
	int rc;

	to->id = 0;
	if (!name)
		return 0;
	if ((rc = who_agent(call, name, "/to", to)) < 0)
		return rc;
	if (to->id == a->id)
		return fault_set(&call->fault, FAULT_INVALID, "/to",
				 "%s is the member that leaves", a->name);
	if (who_observes(to))
		return fault_set(&call->fault, FAULT_INVALID, "/to",
				 "%s is an observer; observers receive no messages",
				 to->name);
	return 0;
}

int team_keep_lead(struct call *call, const struct agent_row *a, const char *where,
		   int64_t *lead)
{
	struct team_lead_row row;
	int rc = sql_row(call, team_lead, &row, .team = a->team);

	if (rc < 0)
		return rc;
	if (rc > 0) {
		if (lead)
			*lead = row.id;
		return 0;
	}
	fault_set(&call->fault, FAULT_CONFLICT, where, "%s is the team's only lead",
		  a->name);
	return fault_hint(&call->fault, "Add another member with the role `lead` first.");
}

/* If a leaving member holds the place of the lead in a team below, the lead of the member's
 * team gets this place. */
static int hand_to_lead(struct call *call, const struct agent_row *a)
{
	int64_t lead;
	int rc = team_keep_lead(call, a, "/name", &lead);

	if (rc < 0 || (rc = agent_renew_seats(call, a->id)) < 0)
		return rc;
	return sql_run(call, member_seats, .agent = a->id, .to = lead);
}

static int member_let_go(struct call *call, const struct member_remove_in *in)
{
	struct agent_row a, to;
	int rc = who_agent(call, in->name, "/name", &a);

	if (rc < 0)
		return rc;
	if (a.kind == AGENT_KIND_OPERATOR)
		return fault_set(&call->fault, FAULT_INVALID, "/name",
				 "the operator is not a member");
	call->made = a.id;
	if ((rc = find_heir(call, in->to, &a, &to)) < 0 ||
	    (rc = task_give_back(call, a.id, "its owner left the team")) < 0 ||
	    (rc = sql_run(call, agent_unassign, .team = a.team, .agent = a.id)) < 0 ||
	    (rc = assignment_end_all(call, a.id,
				     "interrupted: its agent left the team")) < 0 ||
	    (rc = move_mail(call, &a, to.id)) < 0 || (rc = stop_place(call, &a)) < 0 ||
	    (rc = sql_run(call, member_end, .agent = a.id)) < 0 ||
	    (rc = sql_run(call, board_add_members, .team = a.team, .n = -1)) < 0 ||
	    (rc = hand_to_lead(call, &a)) < 0 ||
	    (rc = event_emit(call, EVENT_AGENT_REMOVED, a.id, to.id, NULL)) < 0)
		return rc;
	return team_announce(call, call->caller.team);
}

int member_remove(struct call *call, const struct member_remove_in *in,
		  struct member_remove_out *out)
{
	struct agent_row a;
	int rc;

	if (!call->made && ((rc = who_team_of(call, in->team, in->name, "/name")) < 0 ||
			    (rc = member_let_go(call, in)) < 0))
		return rc;
	/* A repeat does not find the team by the name, since the member is gone. */
	if ((rc = sql_row(call, agent_by_id, &a, .id = call->made)) < 0 ||
	    (rc = who_enter_again(call, a.team)) < 0)
		return rc;
	out->name = a.name;
	out->team = call->caller.team_name;
	return 0;
}
