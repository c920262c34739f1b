#include "core/mirror/mirror_rows.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/access/access_door.h"
#include "core/base/alloc.h"
#include "core/call/id.h"

/* --- lists of ids ----------------------------------------------------------- */

void ids_add(struct ids *ids, int64_t id)
{
	if (ids->n > 0 && ids->v[ids->n - 1] == id)
		return;
	if (ids->n == ids->room) {
		ids->room = ids->room ? ids->room * 2 : 64;
		ids->v = xreallocarray(ids->v, ids->room, sizeof(*ids->v));
	}
	ids->v[ids->n++] = id;
}

static int mirror_rows_compare_ids(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

void ids_settle(struct ids *ids)
{
	size_t kept = 0;

	if (ids->n > 1)
		qsort(ids->v, ids->n, sizeof(*ids->v), mirror_rows_compare_ids);
	for (size_t i = 0; i < ids->n; i++)
		if (i == 0 || ids->v[i] != ids->v[i - 1])
			ids->v[kept++] = ids->v[i];
	ids->n = kept;
}

void ids_release(struct ids *ids)
{
	free(ids->v);
	*ids = (struct ids){ 0 };
}

const char *ids_json(const struct ids *ids, size_t from, size_t n, struct arena *a)
{
	size_t room = n * 21 + 3, len = 0;
	char *out = arena_alloc(a, room);

	out[len++] = '[';
	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(out + len, room - len, "%s%" PRId64, i ? "," : "",
					ids->v[from + i]);
	out[len++] = ']';
	out[len] = '\0';
	return out;
}

/* --- rows --------------------------------------------------------------------- */

/* All statements over a list have the ids as their only parameter. */
_Static_assert(sizeof(struct sql_mirror_tasks_in) == sizeof(char *), "ids only");
_Static_assert(sizeof(struct sql_mirror_deps_in) == sizeof(char *), "ids only");
_Static_assert(sizeof(struct sql_mirror_tags_in) == sizeof(char *), "ids only");
_Static_assert(sizeof(struct sql_mirror_criteria_in) == sizeof(char *), "ids only");
_Static_assert(sizeof(struct sql_mirror_notes_in) == sizeof(char *), "ids only");
_Static_assert(sizeof(struct sql_mirror_agents_in) == sizeof(char *), "ids only");
_Static_assert(sizeof(struct sql_mirror_skills_in) == sizeof(char *), "ids only");
_Static_assert(sizeof(struct sql_mirror_protocols_in) == sizeof(char *), "ids only");

struct list {
	char *items;
	size_t n, size, at;
};

/* Reads all rows of a statement. */
static int mirror_rows_read(struct call *call, enum sql id, const void *in, size_t size,
			    struct list *out)
{
	struct query q;
	int rc;

	*out = (struct list){ .size = size };
	store_query(call->store, &q, id, in);
	do {
		void *row = arena_push(&call->arena, &out->items, &out->n, size);

		rc = store_next(&q, row, size, &call->arena, &call->fault);
	} while (rc > 0);
	out->n--;
	return rc;
}

static int read_list(struct call *call, enum sql id, const char *ids, size_t size,
		     struct list *out)
{
	const struct sql_mirror_tasks_in in = { .ids = ids };

	return mirror_rows_read(call, id, &in, size, out);
}

/* The rows of `key` in a list that is sorted by its first column. */
static const void *take_rows(struct list *list, int64_t key, size_t *n)
{
	const char *first;
	int64_t has;

	for (; list->at < list->n; list->at++) {
		memcpy(&has, list->items + list->at * list->size, sizeof(has));
		if (has >= key)
			break;
	}
	first = list->items + list->at * list->size;
	for (*n = 0; list->at < list->n; list->at++, (*n)++) {
		memcpy(&has, list->items + list->at * list->size, sizeof(has));
		if (has != key)
			break;
	}
	return *n ? first : NULL;
}

int view_tasks(struct call *call, const char *ids, struct task_view **out, size_t *n)
{
	struct list rows, deps, tags, criteria, notes;
	int rc;

	if ((rc = read_list(call, sql_mirror_tasks, ids, sizeof(struct mirror_tasks_row),
			    &rows)) < 0 ||
	    (rc = read_list(call, sql_mirror_deps, ids, sizeof(struct mirror_deps_row),
			    &deps)) < 0 ||
	    (rc = read_list(call, sql_mirror_tags, ids, sizeof(struct mirror_tags_row),
			    &tags)) < 0 ||
	    (rc = read_list(call, sql_mirror_criteria, ids,
			    sizeof(struct mirror_criteria_row), &criteria)) < 0 ||
	    (rc = read_list(call, sql_mirror_notes, ids, sizeof(struct mirror_notes_row),
			    &notes)) < 0)
		return rc;
	*n = rows.n;
	*out = arena_alloc(&call->arena, (rows.n + 1) * sizeof(**out));
	for (size_t i = 0; i < rows.n; i++) {
		struct task_view *v = &(*out)[i];

		v->row = ((const struct mirror_tasks_row *)rows.items)[i];
		v->deps = take_rows(&deps, v->row.id, &v->n_deps);
		v->tags = take_rows(&tags, v->row.id, &v->n_tags);
		v->criteria = take_rows(&criteria, v->row.id, &v->n_criteria);
		v->notes = take_rows(&notes, v->row.id, &v->n_notes);
	}
	return 0;
}

/* A card shows where a member's door is only as long as its policy lets teammates come. */
static int hide_shut_door(struct call *call, struct mirror_agents_row *row)
{
	bool open = true;
	int rc = row->http ? door_is_open(call, row->team, row->id, &open) : 0;

	if (!open)
		row->http = NULL;
	return rc;
}

int view_agents(struct call *call, const char *ids, struct agent_view **out, size_t *n)
{
	struct list rows, skills, protocols;
	int rc;

	if ((rc = read_list(call, sql_mirror_agents, ids,
			    sizeof(struct mirror_agents_row), &rows)) < 0 ||
	    (rc = read_list(call, sql_mirror_skills, ids,
			    sizeof(struct mirror_skills_row), &skills)) < 0 ||
	    (rc = read_list(call, sql_mirror_protocols, ids,
			    sizeof(struct mirror_protocols_row), &protocols)) < 0)
		return rc;
	*n = rows.n;
	*out = arena_alloc(&call->arena, (rows.n + 1) * sizeof(**out));
	for (size_t i = 0; i < rows.n; i++) {
		struct agent_view *v = &(*out)[i];

		v->row = ((const struct mirror_agents_row *)rows.items)[i];
		v->skills = take_rows(&skills, v->row.id, &v->n_skills);
		v->protocols = take_rows(&protocols, v->row.id, &v->n_protocols);
		if (v->row.workspace && v->row.workspace_at &&
		    !(v->workspace_id = id_public(call, ID_WORKSPACE, v->row.workspace,
						  v->row.workspace_at)))
			return call->fault.code;
		if ((rc = hide_shut_door(call, &v->row)) < 0)
			return rc;
	}
	return 0;
}

int view_team(struct call *call, int64_t team, struct team_view *out)
{
	struct list members, below, budgets;
	int rc;

	if ((rc = sql_row(call, mirror_team, &out->row, .id = team)) <= 0)
		return rc;
	rc = mirror_rows_read(call, sql_mirror_members,
			      &(const struct sql_mirror_members_in){
				      .team = team, .gone = out->row.destroyed_at != 0 },
			      sizeof(struct mirror_members_row), &members);
	if (rc < 0)
		return rc;
	rc = mirror_rows_read(call, sql_mirror_below,
			      &(const struct sql_mirror_below_in){ .team = team },
			      sizeof(struct mirror_below_row), &below);
	if (rc < 0)
		return rc;
	rc = mirror_rows_read(call, sql_mirror_budgets,
			      &(const struct sql_mirror_budgets_in){ .team = team },
			      sizeof(struct mirror_budgets_row), &budgets);
	if (rc < 0)
		return rc;
	out->members = (const void *)members.items;
	out->n_members = members.n;
	out->below = (const void *)below.items;
	out->n_below = below.n;
	out->budgets = (const void *)budgets.items;
	out->n_budgets = budgets.n;
	return 1;
}

int view_board(struct call *call, const struct mirror_team_row *team,
	       struct board_view *out)
{
	struct board_counts n;
	struct list tasks;
	int rc;

	/* The time 0 is before the end of every lease, so that states are counted as they
	 * are written. */
	rc = sql_row(call, team_board, &n, .team = team->id, .now = 0);
	if (rc == 0)
		rc = fault_set(&call->fault, FAULT_INTERNAL, "", "team %s has no board",
			       team->name);
	if (rc < 0)
		return rc;
	*out = (struct board_view){
		.team = team->name,
		.ready = n.ready,
		.counts = { [TASK_STATE_PENDING] = n.pending,
			    [TASK_STATE_CLAIMED] = n.claimed,
			    [TASK_STATE_IN_PROGRESS] = n.in_progress,
			    [TASK_STATE_BLOCKED] = n.blocked,
			    [TASK_STATE_COMPLETED] = n.completed,
			    [TASK_STATE_FAILED] = n.failed,
			    [TASK_STATE_CANCELLED] = n.cancelled },
	};
	for (int state = 0; rc >= 0 && state < N_TASK_STATES; state++) {
		rc = mirror_rows_read(
			call, sql_mirror_index,
			&(const struct sql_mirror_index_in){
				.team = team->id, .state = state, .limit = INDEX_ROWS },
			sizeof(struct mirror_index_row), &tasks);
		out->tasks[state] = (const void *)tasks.items;
		out->n_tasks[state] = tasks.n;
	}
	return rc;
}

void task_file_name(int64_t number, const char *slug, char out[128])
{
	int at = snprintf(out, 128, "%03" PRId64 "-%.90s.md", number, slug ? slug : "");
	char *c = strchr(out, '-') + 1;

	for (; c < out + at - 3; c++)
		if (!isalnum((unsigned char)*c) || (unsigned char)*c > 126)
			*c = '-';
}
