/*
 * workspace_list - lists workspaces, with what runs in them.
 */
#include <inttypes.h>

#include "core/access/who.h"
#include "core/call/space.h"
#include "core/workspace/workspace.h"

enum { RUNS_SHOWN = 80 }; /* bytes of a command that a list shows */

/* Tells what runs in a workspace, as far as the state knows it. */
static int workspace_tell_runs(struct call *call, int64_t agent, struct workspace *out)
{
	struct workspace_runs_row r;
	int64_t size;
	int rc = agent ? sql_row(call, workspace_runs, &r, .agent = agent) : 0;

	if (rc <= 0)
		return rc;
	out->runs = r.turn ? arena_printf(&call->arena, "turn %" PRId64, r.turn)
			   : space_cut(call, r.command, RUNS_SHOWN, &size);
	out->has_runs_since = true;
	out->runs_since = r.at;
	return 0;
}

/* Tells what the guest of this machine uses. Models get no such numbers. */
static void workspace_tell_usage(const struct call *call, struct workspace *out)
{
	int64_t cpu_ms, memory;

	if (!out->has_pid || call->form.brief || !call->settings->find_usage ||
	    !call->settings->find_usage(out->pid, &cpu_ms, &memory))
		return;
	out->has_cpu_secs = out->has_used_mb = true;
	out->cpu_secs = cpu_ms / 1000;
	out->used_mb = memory >> 20;
}

int workspace_list(struct call *call, const struct workspace_list_in *in,
		   struct workspace_list_out *out)
{
	struct workspace_row w;
	struct query q = { 0 };
	int rc;

	if ((rc = who_team(call, in->team)) < 0)
		return rc;
	while ((rc = sql_each(call, &q, workspace_lines, &w, .team = call->caller.team,
			      .all = in->all, .offset = in->offset)) > 0) {
		struct workspace told;

		workspace_tell_row(call, &w, &told);
		workspace_tell_usage(call, &told);
		if ((rc = workspace_tell_runs(call, w.agent, &told)) < 0 ||
		    !space_put(call, out, workspaces, &record_workspace, &told,
			       INT64_MAX))
			break;
	}
	query_end(&q);
	out->next = in->offset + (int64_t)out->n_workspaces;
	return rc < 0 ? rc : 0;
}
