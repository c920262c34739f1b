#include "core/workspace_loss.h"

#include <inttypes.h>

enum { NAMED = 4 };

void loss_add(struct call *call, const struct workspace_row *w)
{
	struct losing *l = call->losing;

	/* A guest that was attached lives elsewhere, and stays. */
	if (w->state == WORKSPACE_STATE_DESTROYED || w->backend == BACKEND_KIND_ATTACH)
		return;
	*(struct folder *)arena_push(&call->arena, &l->folders, &l->n,
				     sizeof(struct folder)) = (struct folder){
		.name = arena_printf(&call->arena, "%s/%s", w->team_name,
				     w->agent_name ? w->agent_name : w->name),
		.path = w->backend == BACKEND_KIND_PROCESS ? w->path : NULL,
		.made_at = w->created_at,
	};
}

int loss_add_team(struct call *call, int64_t team)
{
	struct workspace_row w;
	struct query q;
	int rc;

	sql_query(call, &q, workspace_lines, .team = team);
	while ((rc = sql_next(call, &q, &w)) > 0)
		loss_add(call, &w);
	query_end(&q);
	return rc;
}

/* Refuses a call by which work would be lost; a fault that says how much and whose. */
static int refuse(struct call *call, const struct losing *l, const char *which, size_t n)
{
	int64_t days = call->settings->config.workspace_keep_days;

	fault_set(&call->fault, FAULT_CONFLICT, "/confirm",
		  "%zu workspace%s would go, %zu with work that was done there: %s", l->n,
		  l->n == 1 ? "" : "s", n, which);
	return days ? fault_hint(
			      &call->fault,
			      "Do it with confirm=true (--yes). Folders, not disks of VMs, "
			      "can be brought back for %" PRId64 " days: cadre undo.",
			      days)
		    : fault_hint(&call->fault, "Do it with confirm=true (--yes). Nothing "
					       "of it can be brought back.");
}

static int look(struct call *call, const struct losing *l)
{
	const char *which = "";
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		const struct folder *f = &l->folders[i];

		if (f->path && !call->settings->changed_since(f->path, f->made_at))
			continue;
		n++;
		if (n <= NAMED)
			which = arena_printf(&call->arena, "%s%s%s%s", which,
					     n > 1 ? ", " : "", f->name,
					     f->path ? "" : " (a VM)");
	}
	if (n > NAMED)
		which = arena_printf(&call->arena, "%s, …", which);
	return n ? refuse(call, l, which, n) : 0;
}

static bool is_confirmed(const struct call *call)
{
	const struct field *confirm = field_find(call->op->in, "confirm");

	return *(const bool *)((const char *)call->in + confirm->at);
}

int loss_run(struct call *call)
{
	struct losing losing = { 0 };
	int rc = 0;

	if (call->settings->changed_since && !is_confirmed(call)) {
		call->losing = &losing;
		call->plans = true;
		rc = call_transact(call, false);
		call->plans = false;
		call->losing = NULL;
		if (rc >= 0 && call->replayed)
			return 0;
		if (rc >= 0)
			rc = look(call, &losing);
	}
	return rc < 0 ? rc : call_transact(call, true);
}
