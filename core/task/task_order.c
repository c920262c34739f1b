/*
 * order - the board in dependency order (Kahn): every task after those that it
 * depends on, ties by priority, then number.
 */
#include <stdlib.h>
#include <string.h>

#include "core/call/space.h"
#include "core/task/task.h"

struct node {
	struct task_line_row row;
	size_t waits; /* dependencies not yet listed */
	size_t first; /* index in `next` of the first task that waits for this task */
	size_t n_next;
};

struct graph {
	struct node *nodes; /* by priority, then number */
	size_t n;
	size_t *by_id; /* places in nodes, by task id */
	struct task_edges_row *edges;
	size_t n_edges;
	size_t *next; /* places of the tasks that wait, grouped by dependency */
	size_t *heap; /* places of the tasks that can be listed: least first */
	size_t n_heap;
};

static int task_order_compare_ids(const void *a, const void *b, void *nodes)
{
	const struct node *all = nodes;
	int64_t x = all[*(const size_t *)a].row.id, y = all[*(const size_t *)b].row.id;

	return x < y ? -1 : x > y;
}

static size_t task_order_place_of(const struct graph *g, int64_t id)
{
	size_t low = 0, high = g->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (g->nodes[g->by_id[mid]].row.id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return g->by_id[low];
}

static int read_graph(struct call *call, struct graph *g)
{
	struct task_line_row t;
	struct task_edges_row e;
	struct query q;
	int rc;

	sql_query(call, &q, task_all_lines, .team = call->caller.team, .now = call->now);
	while ((rc = sql_next(call, &q, &t)) > 0)
		((struct node *)arena_push(&call->arena, &g->nodes, &g->n,
					   sizeof(*g->nodes)))
			->row = t;
	if (rc < 0)
		return rc;
	sql_query(call, &q, task_edges, .team = call->caller.team);
	while ((rc = sql_next(call, &q, &e)) > 0)
		*(struct task_edges_row *)arena_push(&call->arena, &g->edges, &g->n_edges,
						     sizeof(e)) = e;
	return rc;
}

static void index_graph(struct call *call, struct graph *g)
{
	size_t at = 0;

	g->by_id = arena_alloc(&call->arena, (g->n + 1) * sizeof(*g->by_id));
	g->heap = arena_alloc(&call->arena, (g->n + 1) * sizeof(*g->heap));
	g->next = arena_alloc(&call->arena, (g->n_edges + 1) * sizeof(*g->next));
	for (size_t i = 0; i < g->n; i++)
		g->by_id[i] = i;
	qsort_r(g->by_id, g->n, sizeof(*g->by_id), task_order_compare_ids, g->nodes);
	for (size_t i = 0; i < g->n_edges; i++)
		g->nodes[task_order_place_of(g, g->edges[i].dep)].n_next++;
	for (size_t i = 0; i < g->n; i++) {
		g->nodes[i].first = at;
		at += g->nodes[i].n_next;
		g->nodes[i].n_next = 0;
	}
	for (size_t i = 0; i < g->n_edges; i++) {
		struct node *dep = &g->nodes[task_order_place_of(g, g->edges[i].dep)];
		size_t task = task_order_place_of(g, g->edges[i].task);

		g->next[dep->first + dep->n_next++] = task;
		g->nodes[task].waits++;
	}
}

static void heap_add(struct graph *g, size_t place)
{
	size_t i = g->n_heap++;

	for (; i > 0 && g->heap[(i - 1) / 2] > place; i = (i - 1) / 2)
		g->heap[i] = g->heap[(i - 1) / 2];
	g->heap[i] = place;
}

static size_t heap_take(struct graph *g)
{
	size_t least = g->heap[0], last = g->heap[--g->n_heap], i = 0, child;

	while ((child = 2 * i + 1) < g->n_heap) {
		if (child + 1 < g->n_heap && g->heap[child + 1] < g->heap[child])
			child++;
		if (g->heap[child] >= last)
			break;
		g->heap[i] = g->heap[child];
		i = child;
	}
	g->heap[i] = last;
	return least;
}

/* Takes the next task of the order from the heap; tasks that waited for this task alone
 * go into the heap. */
static const struct node *order_next(struct graph *g)
{
	const struct node *t = &g->nodes[heap_take(g)];

	for (size_t i = 0; i < t->n_next; i++)
		if (--g->nodes[g->next[t->first + i]].waits == 0)
			heap_add(g, g->next[t->first + i]);
	return t;
}

static int list_order(struct call *call, struct graph *g, int64_t after,
		      struct task_order_out *out)
{
	bool begun = after == 0;

	while (g->n_heap > 0 && !out->more) {
		const struct node *t = order_next(g);
		struct task_line line;
		int rc;

		if (!begun) {
			begun = t->row.id == after;
			continue;
		}
		if ((rc = task_tell_line(call, &t->row, &line)) < 0)
			return rc;
		if (space_take(call, &record_task_line, &line))
			out->tasks[out->n_tasks++] = line;
		else
			out->more = true;
	}
	return 0;
}

int task_order(struct call *call, const struct task_order_in *in,
	       struct task_order_out *out)
{
	struct task_row after = { 0 };
	struct graph g = { 0 };
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (in->after && (rc = task_find(call, in->after, &after)) < 0) ||
	    (rc = read_graph(call, &g)) < 0)
		return rc;
	index_graph(call, &g);
	out->tasks = arena_alloc(&call->arena, (g.n + 1) * sizeof(*out->tasks));
	for (size_t i = 0; i < g.n; i++)
		if (g.nodes[i].waits == 0)
			heap_add(&g, i);
	return list_order(call, &g, after.id, out);
}
