/* budget_show - lists what teams may spend, and have spent. */
#include "core/access/who.h"
#include "core/call/space.h"
#include "core/team/budget.h"
#include "core/team/team.h"

static int budget_show_add(struct call *call, const struct budget_line *line,
			   struct budget_list *list)
{
	if (list->full)
		return 0;
	if (list->skip > 0) {
		list->skip--;
		return 0;
	}
	if (!space_take(call, &record_budget_line, line)) {
		list->full = true;
		return 0;
	}
	*(struct budget_line *)arena_push(&call->arena, &list->lines, &list->n,
					  sizeof(*line)) = *line;
	return 0;
}

static struct budget_line budget_show_line_of(const char *path,
					      const struct budget_row *b)
{
	int64_t left = b->most - b->used - b->reserved;

	return (struct budget_line){ .path = path,
				     .kind = b->kind,
				     .has_limit = b->most > 0,
				     .limit = b->most,
				     .used = b->used,
				     .reserved = b->reserved,
				     .has_left = b->most > 0,
				     .left = left > 0 ? left : 0 };
}

static int add_vms(struct call *call, int64_t team, const char *path, int64_t max_vms,
		   struct budget_list *list)
{
	struct budget_line line;
	struct team_counts_row vms;
	int rc = sql_row(call, team_counts, &vms, .team = team);

	if (rc <= 0)
		return rc;
	line = budget_show_line_of(
		path, &(const struct budget_row){ .kind = BUDGET_KIND_VMS,
						  .most = max_vms,
						  .used = vms.used,
						  .reserved = vms.reserved });
	line.has_limit = line.has_left = true; /* 0 is a limit of workspaces */
	return budget_show_add(call, &line, list);
}

int budget_list_add(struct call *call, int64_t team, const char *path, int64_t max_vms,
		    struct budget_list *list)
{
	struct budget_line line;
	struct budget_row row;
	struct query q;
	int rc = list->all ? add_vms(call, team, path, max_vms, list) : 0;

	if (rc < 0)
		return rc;
	sql_query(call, &q, budget_rows, .team = team, .now = call->now);
	while ((rc = sql_next(call, &q, &row)) > 0) {
		line = budget_show_line_of(path, &row);
		if (row.most > 0 || (list->all && row.used > 0))
			rc = budget_show_add(call, &line, list);
	}
	query_end(&q);
	return rc < 0 ? rc : 0;
}

int budget_list_below(struct call *call, int64_t team, const char *path,
		      struct budget_list *list)
{
	struct team_walk w = { .root = team, .path = path };
	int rc = 0;

	while (!list->full && (rc = team_walk_next(call, &w)) > 0)
		if ((rc = budget_list_add(call, w.at->team.id, w.at->path,
					  w.at->team.max_vms, list)) < 0)
			return rc;
	return rc;
}

/* Adds a team and, for the operator, those above it, the highest first; `*path` is then how
 * the team is called. */
static int add_line_of(struct call *call, int64_t team, const char **path,
		       struct budget_list *list)
{
	struct team_row t;
	int rc = sql_row(call, team_by_id, &t, .id = team);

	*path = NULL;
	if (rc <= 0 || (t.parent && !call->identity.agent &&
			(rc = add_line_of(call, t.parent, path, list)) < 0))
		return rc;
	*path = *path ? arena_printf(&call->arena, "%s / %s", *path, t.name) : t.name;
	return budget_list_add(call, team, *path, t.max_vms, list);
}

int team_budget(struct call *call, const struct team_budget_in *in,
		struct team_budget_out *out)
{
	struct budget_list list = { .skip = in->offset, .all = true };
	const char *path;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = add_line_of(call, call->caller.team, &path, &list)) < 0 ||
	    (call->caller.level >= WHO_LEAD &&
	     (rc = budget_list_below(call, call->caller.team, path, &list)) < 0))
		return rc;
	out->budgets = list.lines;
	out->n_budgets = list.n;
	out->more = list.full;
	out->next = in->offset + (int64_t)list.n;
	return 0;
}
