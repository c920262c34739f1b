/* team_list - lists teams by name, or lists each team after the team above it. */
#include <string.h>

#include "core/call/space.h"
#include "core/team/team.h"

/* --- walking ------------------------------------------------------------------------ */

/* Moves the walk to another team at `level`. If w->way already has a team at this level, the
 * walk goes to the next team of the level, else to the first team of the level. Returns 1 if
 * the walk has moved, 0 if there is no such team, or a negative fault code. */
static int walk_at(struct call *call, struct team_walk *w, size_t level)
{
	const struct team_line_row *after = level < w->depth ? &w->way[level].team : NULL;
	const char *above = level ? w->way[level - 1].path : w->path;
	struct team_line_row row;
	int rc = sql_row(call, team_below_next, &row,
			 .parent = level ? w->way[level - 1].team.id : w->root,
			 .name = after ? after->name : "", .id = after ? after->id : 0,
			 .all = w->all);

	if (rc <= 0)
		return rc;
	w->way[level].team = row;
	w->way[level].path =
		!above ? row.name
		       : arena_printf(&call->arena, "%s / %s", above, row.name);
	w->depth = level + 1;
	return 1;
}

int team_walk_next(struct call *call, struct team_walk *w)
{
	size_t level = w->depth < TEAM_WAY ? w->depth : w->depth - 1;
	int rc;

	while ((rc = walk_at(call, w, level)) == 0 && level > 0)
		level--;
	w->at = rc > 0 ? &w->way[w->depth - 1] : NULL;
	return rc;
}

/* --- the list ----------------------------------------------------------------------- */

struct listing {
	const struct team_list_in *in;
	struct team_list_out *out;
	int64_t skip; /* number of lines that are still to be skipped */
	int64_t guests; /* guests of the teams on the page */
	bool boards; /* each line also has the counts of the team's board */
};

/* Adds the counts of a team's board to the team's line. */
static int team_list_tell_board(struct call *call, int64_t team, struct team_line *line)
{
	struct board_counts n = { 0 };
	int rc = sql_row(call, team_board, &n, .team = team, .now = call->now);

	line->has_ready = line->has_waiting = line->has_in_work = line->has_blocked =
		line->has_completed = line->has_failed = true;
	line->ready = n.ready;
	line->waiting = n.pending - n.ready;
	line->in_work = n.claimed + n.in_progress;
	line->blocked = n.blocked;
	line->completed = n.completed;
	line->failed = n.failed;
	return rc;
}

/* Adds a team to the page. Returns 1 if the team was added, 0 if the page is full, or a
 * negative fault code. */
static int team_list_add(struct call *call, struct listing *l,
			 const struct team_line_row *r, const char *path)
{
	struct team_list_out *out = l->out;
	struct team_state_row s;
	struct team_line line;
	int rc;

	if (l->skip > 0) {
		l->skip--;
		return 1;
	}
	if ((rc = sql_row(call, team_state, &s, .team = r->id, .now = call->now)) < 0)
		return rc;
	line = (struct team_line){ .name = r->name,
				   .parent = r->parent_name,
				   .state = s.now_state,
				   .members = r->members,
				   .open_tasks = r->open_tasks,
				   .created_at = r->created_at,
				   .path = l->in->tree ? path : NULL };
	if (l->boards && (rc = team_list_tell_board(call, r->id, &line)) < 0)
		return rc;
	if (!space_put(call, out, teams, &record_team_line, &line, INT64_MAX))
		return 0;
	l->guests += r->guests;
	return 1;
}

static int list_named(struct call *call, struct listing *l)
{
	struct team_line_row r;
	struct query q;
	int rc;

	sql_query(call, &q, teams_named, .all = l->in->all, .offset = l->skip);
	l->skip = 0;
	while ((rc = sql_next(call, &q, &r)) > 0 &&
	       (rc = team_list_add(call, l, &r, NULL)) > 0)
		;
	query_end(&q);
	return rc;
}

/* Lists the team `team`. With `below`, also lists the teams below the team. If `team` is 0,
 * `below` alone decides: with `below`, lists all teams; without, lists none. */
static int list_below(struct call *call, struct listing *l, int64_t team, bool below)
{
	struct team_walk w = { .root = team, .all = l->in->all };
	struct team_line_row r = { 0 };
	int rc = 1;

	if (team) {
		if ((rc = sql_row(call, team_line, &r, .id = team)) > 0)
			rc = team_list_add(call, l, &r, r.name);
		w.path = r.name;
	}
	while (rc > 0 && below && (rc = team_walk_next(call, &w)) > 0)
		rc = team_list_add(call, l, &w.at->team, w.at->path);
	return rc;
}

int team_lines(struct call *call, const struct team_list_in *in, int64_t team,
	       struct team_list_out *out, int64_t *guests)
{
	struct listing l = { .in = in, .out = out, .skip = in->offset, .boards = guests };
	int rc = team || in->tree ? list_below(call, &l, team,
					       !call->identity.agent ||
						       call->caller.level >= WHO_LEAD)
				  : list_named(call, &l);

	out->next = in->offset + (int64_t)out->n_teams;
	if (guests)
		*guests = l.guests;
	return rc < 0 ? rc : 0;
}

int team_list(struct call *call, const struct team_list_in *in, struct team_list_out *out)
{
	return team_lines(call, in, call->identity.agent ? call->caller.team : 0, out,
			  NULL);
}
