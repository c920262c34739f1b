/*
 * task_graph - a board as a graph of tasks and their dependencies: the order of the tasks, and
 * drawings.
 *
 * The order is Kahn's: every task comes after the tasks on which it depends. Tasks that can come
 * next are sorted by priority, then by number.
 *
 * A drawing has the tasks in layers. A task's layer is the length of the longest path from a task
 * without dependencies. In its layer a task stands near the mean of its dependencies' places.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/call/space.h"
#include "core/task/task.h"

enum {
	GRAPH_MOST = 500, /* maximum number of tasks in a drawing */
	GRAPH_TITLE = 60, /* bytes of a title in a drawing */
	GRAPH_DEEP = 20, /* maximum number of layers for which a tree is indented */
	GRAPH_NAMED = 5, /* maximum number of further dependencies that a tree names */
	BOX_WIDTH = 240, /* of a task in an SVG image, in its units */
	BOX_HEIGHT = 40,
	BOX_GAP = 60, /* between two layers */
	BOX_BELOW = 16, /* between two tasks of a layer */
};

struct node {
	struct task_line_row row;
	size_t waits; /* number of dependencies that are not listed yet */
	size_t first; /* index in `next` of the first task that waits for this task */
	size_t n_next;
	bool drawn; /* the task is in the drawing, and the fields below count */
	size_t layer, slot; /* place in the drawing */
	size_t parent; /* index of the dependency below which a tree has the task, or SIZE_MAX */
	size_t sum, n_deps; /* of the places of the drawn dependencies */
	size_t deps[GRAPH_NAMED + 1],
		n_named; /* indexes of the first drawn dependencies */
};

struct graph {
	struct node *nodes; /* sorted by priority, then by number */
	size_t n;
	size_t *by_id; /* indexes in `nodes`, sorted by task id */
	struct task_edges_row *edges;
	size_t n_edges;
	size_t *next; /* indexes of waiting tasks, grouped by dependency */
	size_t *heap; /* indexes of tasks that can be listed, the smallest index first */
	size_t n_heap;
	size_t *drawn; /* indexes of the drawn tasks, layer by layer, each layer by its slots */
	size_t n_drawn, n_layers;
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

/* Reads a board: all tasks, or the open tasks and the tasks on which these depend. */
static int read_graph(struct call *call, struct graph *g, bool all)
{
	struct task_line_row t;
	struct task_edges_row e;
	struct query q;
	int rc;

	if (all)
		sql_query(call, &q, task_all_lines, .team = call->caller.team,
			  .now = call->now);
	else
		sql_query(call, &q, task_drawn_lines, .team = call->caller.team,
			  .now = call->now, .most = GRAPH_MOST + 1);
	while ((rc = sql_next(call, &q, &t)) > 0)
		((struct node *)arena_push(&call->arena, &g->nodes, &g->n,
					   sizeof(*g->nodes)))
			->row = t;
	if (rc < 0)
		return rc;
	if (all)
		sql_query(call, &q, task_edges, .team = call->caller.team);
	else
		sql_query(call, &q, task_drawn_edges, .team = call->caller.team,
			  .most = GRAPH_MOST + 1);
	while ((rc = sql_next(call, &q, &e)) > 0)
		arena_add(&call->arena, g->edges, g->n_edges, e);
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

/* Takes the next task of the order from the heap. Adds to the heap the tasks that waited only
 * for this task. */
static struct node *order_next(struct graph *g)
{
	struct node *t = &g->nodes[heap_take(g)];

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
		space_put(call, out, tasks, &record_task_line, &line, INT64_MAX);
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
	    (rc = read_graph(call, &g, true)) < 0)
		return rc;
	index_graph(call, &g);
	for (size_t i = 0; i < g.n; i++)
		if (g.nodes[i].waits == 0)
			heap_add(&g, i);
	return list_order(call, &g, after.id, out);
}

/* --- the places of a drawing --------------------------------------------------------------- */

/* Finds the drawn tasks and their layers. Returns whether there are more than GRAPH_MOST. */
static bool graph_find_layers(struct graph *g)
{
	while (g->n_heap > 0) {
		struct node *t = order_next(g);
		const size_t at = (size_t)(t - g->nodes);

		if (g->n_drawn == GRAPH_MOST)
			return true;
		t->drawn = true;
		g->drawn[g->n_drawn++] = at;
		if (t->layer >= g->n_layers)
			g->n_layers = t->layer + 1;
		for (size_t i = 0; i < t->n_next; i++) {
			struct node *behind = &g->nodes[g->next[t->first + i]];

			if (behind->n_named <= GRAPH_NAMED)
				behind->deps[behind->n_named++] = at;
			if (behind->layer > t->layer)
				continue;
			behind->layer = t->layer + 1;
			behind->parent = at;
		}
	}
	return false;
}

/* Compares two drawn tasks: by layer, then by the mean of the places of their dependencies. */
static int graph_compare_places(const void *a, const void *b, void *nodes)
{
	const size_t i = *(const size_t *)a, j = *(const size_t *)b;
	const struct node *x = (const struct node *)nodes + i,
			  *y = (const struct node *)nodes + j;
	size_t left, right;

	if (x->layer != y->layer)
		return x->layer < y->layer ? -1 : 1;
	left = x->sum * (y->n_deps ? y->n_deps : 1);
	right = y->sum * (x->n_deps ? x->n_deps : 1);
	return left != right ? (left < right ? -1 : 1) : i < j ? -1 : i > j;
}

/* Finds the places in the layers. The places of a layer follow from those of the layers before. */
static void graph_find_slots(struct graph *g)
{
	qsort_r(g->drawn, g->n_drawn, sizeof(*g->drawn), graph_compare_places, g->nodes);
	for (size_t begin = 0, end; begin < g->n_drawn; begin = end) {
		const size_t layer = g->nodes[g->drawn[begin]].layer;

		for (end = begin;
		     end < g->n_drawn && g->nodes[g->drawn[end]].layer == layer;)
			end++;
		qsort_r(g->drawn + begin, end - begin, sizeof(*g->drawn),
			graph_compare_places, g->nodes);
		for (size_t i = begin; i < end; i++) {
			struct node *t = &g->nodes[g->drawn[i]];

			t->slot = i - begin;
			for (size_t k = 0; k < t->n_next; k++) {
				g->nodes[g->next[t->first + k]].sum += t->slot;
				g->nodes[g->next[t->first + k]].n_deps++;
			}
		}
	}
}

/* --- the forms of a drawing ---------------------------------------------------------------- */

enum graph_form { GRAPH_TREE, GRAPH_DOT, GRAPH_MERMAID, GRAPH_SVG };

struct drawing {
	struct call *call;
	const struct graph *g;
	struct text text;
};

static const char *const graph_colors[] = {
	[BOARD_STATE_PENDING] = "#ffffff",     [BOARD_STATE_CLAIMED] = "#fff3bf",
	[BOARD_STATE_IN_PROGRESS] = "#ffec99", [BOARD_STATE_BLOCKED] = "#ffd8a8",
	[BOARD_STATE_COMPLETED] = "#d3f9d8",   [BOARD_STATE_FAILED] = "#ffc9c9",
	[BOARD_STATE_CANCELLED] = "#e9ecef",   [BOARD_STATE_READY] = "#d0ebff",
	[BOARD_STATE_WAITING] = "#ffffff",
};

static enum board_state graph_state_of(const struct node *t)
{
	return task_board_state(t->row.state_now, t->row.open_deps);
}

static const char *graph_word_of(const struct node *t)
{
	return task_word(t->row.state_now, t->row.open_deps);
}

static const char *graph_owner_of(const struct node *t)
{
	return t->row.state_now != TASK_STATE_PENDING ? t->row.holder_name : NULL;
}

/* The signs with which a form writes a character of a title. NULL: the character itself. */
static const char *graph_sign(enum graph_form form, char c)
{
	static const struct {
		char c;
		const char *signs[GRAPH_SVG + 1];
	} table[] = {
		{ '"', { NULL, "\\\"", "#quot;", "&quot;" } },
		{ '\\', { NULL, "\\\\", NULL, NULL } },
		{ '<', { NULL, NULL, "#lt;", "&lt;" } },
		{ '>', { NULL, NULL, "#gt;", "&gt;" } },
		{ '&', { NULL, NULL, "#amp;", "&amp;" } },
		{ '#', { NULL, NULL, "#35;", NULL } },
		{ '`', { NULL, NULL, "#96;", NULL } },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (table[i].c == c)
			return table[i].signs[form];
	return (unsigned char)c < ' ' || c == 0x7f ? " " : NULL;
}

static void graph_add_title(struct drawing *d, enum graph_form form, const struct node *t)
{
	int64_t size;
	const char *title = space_cut(d->call, t->row.title, GRAPH_TITLE, &size);

	for (const char *c = title; *c; c++) {
		const char *sign = graph_sign(form, *c);

		text_add(&d->text, sign ? sign : c, sign ? strlen(sign) : 1);
	}
	if (size)
		text_addf(&d->text, "…");
}

/* Names the drawn dependencies of a task besides the one above the task. */
static void graph_add_also(struct drawing *d, const struct node *t)
{
	size_t named = 0;

	for (size_t i = 0; i < t->n_named && named < GRAPH_NAMED; i++)
		if (t->deps[i] != t->parent)
			text_addf(&d->text, "%s%s", named++ ? ", " : "  also after ",
				  task_name(d->call, d->g->nodes[t->deps[i]].row.number));
	if (t->n_deps > named + 1)
		text_addf(&d->text, ", +%zu", t->n_deps - named - 1);
}

/* Adds the tasks of a tree that are below `parent`. `before`: the lines on the left. */
static void graph_add_tree(struct drawing *d, size_t parent, const char *before)
{
	const struct graph *g = d->g;
	size_t left = 0;

	for (size_t i = 0; i < g->n_drawn; i++)
		left += g->nodes[g->drawn[i]].parent == parent;
	for (size_t i = 0; i < g->n_drawn && left; i++) {
		const struct node *t = &g->nodes[g->drawn[i]];
		const char *owner = graph_owner_of(t);
		const bool root = parent == SIZE_MAX;

		if (t->parent != parent)
			continue;
		left--;
		text_addf(&d->text, "%s%s%s  %s  ", before,
			  root   ? ""
			  : left ? "├─ "
				 : "└─ ",
			  task_name(d->call, t->row.number), graph_word_of(t));
		graph_add_title(d, GRAPH_TREE, t);
		if (owner)
			text_addf(&d->text, "  (%s)", owner);
		graph_add_also(d, t);
		text_addf(&d->text, "\n");
		/* Below GRAPH_DEEP layers the tasks of a chain stand below one another. */
		graph_add_tree(d, g->drawn[i],
			       root ? ""
			       : t->layer > GRAPH_DEEP
				       ? before
				       : arena_printf(&d->call->arena, "%s%s", before,
						      left ? "│  " : "   "));
	}
}

/* Calls `add` for each dependency between drawn tasks. */
static void graph_each_edge(struct drawing *d,
			    void (*add)(struct drawing *d, const struct node *dep,
					const struct node *t))
{
	const struct graph *g = d->g;

	for (size_t i = 0; i < g->n_drawn; i++) {
		const struct node *dep = &g->nodes[g->drawn[i]];

		for (size_t k = 0; k < dep->n_next; k++)
			if (g->nodes[g->next[dep->first + k]].drawn)
				add(d, dep, &g->nodes[g->next[dep->first + k]]);
	}
}

static void graph_add_dot_edge(struct drawing *d, const struct node *dep,
			       const struct node *t)
{
	text_addf(&d->text, "\t\"%s\" -> \"%s\";\n", task_name(d->call, dep->row.number),
		  task_name(d->call, t->row.number));
}

static void graph_add_dot(struct drawing *d)
{
	text_addf(&d->text, "digraph board {\n\trankdir=LR;\n"
			    "\tnode [shape=box, style=filled, fontname=monospace];\n");
	for (size_t i = 0; i < d->g->n_drawn; i++) {
		const struct node *t = &d->g->nodes[d->g->drawn[i]];
		const char *owner = graph_owner_of(t),
			   *id = task_name(d->call, t->row.number);

		text_addf(&d->text, "\t\"%s\" [fillcolor=\"%s\", label=\"%s %s%s%s\\n",
			  id, graph_colors[graph_state_of(t)], id, graph_word_of(t),
			  owner ? " " : "", owner ? owner : "");
		graph_add_title(d, GRAPH_DOT, t);
		text_addf(&d->text, "\"];\n");
	}
	graph_each_edge(d, graph_add_dot_edge);
	text_addf(&d->text, "}\n");
}

static void graph_add_mermaid_edge(struct drawing *d, const struct node *dep,
				   const struct node *t)
{
	text_addf(&d->text, "\tt%s --> t%s\n", task_name(d->call, dep->row.number),
		  task_name(d->call, t->row.number));
}

static void graph_add_mermaid(struct drawing *d)
{
	text_addf(&d->text, "flowchart LR\n");
	for (size_t i = 0; i < d->g->n_drawn; i++) {
		const struct node *t = &d->g->nodes[d->g->drawn[i]];
		const char *owner = graph_owner_of(t),
			   *id = task_name(d->call, t->row.number);

		text_addf(&d->text, "\tt%s[\"%s %s%s%s<br>", id, id, graph_word_of(t),
			  owner ? " " : "", owner ? owner : "");
		graph_add_title(d, GRAPH_MERMAID, t);
		text_addf(&d->text,
			  "\"]\n\tstyle t%s fill:%s,stroke:#868e96,color:#212529\n", id,
			  graph_colors[graph_state_of(t)]);
	}
	graph_each_edge(d, graph_add_mermaid_edge);
}

static size_t graph_left_of(const struct node *t)
{
	return BOX_GAP / 2 + t->layer * (BOX_WIDTH + BOX_GAP);
}

static size_t graph_top_of(const struct node *t)
{
	return BOX_BELOW + t->slot * (BOX_HEIGHT + BOX_BELOW);
}

static void graph_add_svg_edge(struct drawing *d, const struct node *dep,
			       const struct node *t)
{
	const size_t from = graph_left_of(dep) + BOX_WIDTH, to = graph_left_of(t),
		     high = graph_top_of(dep) + BOX_HEIGHT / 2,
		     low = graph_top_of(t) + BOX_HEIGHT / 2, half = BOX_GAP / 2;

	text_addf(&d->text,
		  "<path d=\"M%zu %zuC%zu %zu %zu %zu %zu %zu\" fill=\"none\" "
		  "stroke=\"#868e96\" marker-end=\"url(#to)\"/>\n",
		  from, high, from + half, high, to - half, low, to, low);
}

static void graph_add_svg(struct drawing *d)
{
	size_t most = 0;

	for (size_t i = 0; i < d->g->n_drawn; i++)
		if (d->g->nodes[d->g->drawn[i]].slot >= most)
			most = d->g->nodes[d->g->drawn[i]].slot + 1;
	text_addf(
		&d->text,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\" "
		"font-family=\"monospace\" font-size=\"12\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
		"<marker id=\"to\" viewBox=\"0 0 6 6\" refX=\"6\" refY=\"3\" "
		"markerWidth=\"6\" markerHeight=\"6\" orient=\"auto\">"
		"<path d=\"M0 0L6 3L0 6z\" fill=\"#868e96\"/></marker>\n",
		d->g->n_layers * (BOX_WIDTH + BOX_GAP),
		BOX_BELOW + most * (BOX_HEIGHT + BOX_BELOW));
	graph_each_edge(d, graph_add_svg_edge);
	for (size_t i = 0; i < d->g->n_drawn; i++) {
		const struct node *t = &d->g->nodes[d->g->drawn[i]];
		const size_t left = graph_left_of(t), top = graph_top_of(t);
		const char *owner = graph_owner_of(t);

		text_addf(
			&d->text,
			"<svg x=\"%zu\" y=\"%zu\" width=\"%d\" height=\"%d\">"
			"<rect x=\"1\" y=\"1\" width=\"%d\" height=\"%d\" rx=\"4\" fill=\"%s\" "
			"stroke=\"#868e96\"/>"
			"<text x=\"8\" y=\"16\">%s %s%s%s</text><text x=\"8\" y=\"32\">",
			left, top, BOX_WIDTH, BOX_HEIGHT, BOX_WIDTH - 2, BOX_HEIGHT - 2,
			graph_colors[graph_state_of(t)],
			task_name(d->call, t->row.number), graph_word_of(t),
			owner ? " " : "", owner ? owner : "");
		graph_add_title(d, GRAPH_SVG, t);
		text_addf(&d->text, "</text></svg>\n");
	}
	text_addf(&d->text, "</svg>\n");
}

/* --- the operation ------------------------------------------------------------------------- */

static bool graph_tell_edges(struct call *call, const struct graph *g,
			     const struct node *t, struct task_graph_out *out)
{
	for (size_t i = 0; i < t->n_next; i++) {
		const struct node *behind = &g->nodes[g->next[t->first + i]];
		struct graph_edge e = { task_name(call, behind->row.number),
					task_name(call, t->row.number) };

		if (behind->drawn &&
		    !space_put(call, out, edges, &record_graph_edge, &e, INT64_MAX))
			return false;
	}
	return true;
}

static void graph_tell(struct call *call, const struct graph *g,
		       struct task_graph_out *out)
{
	for (size_t i = 0; i < g->n_drawn; i++) {
		const struct node *t = &g->nodes[g->drawn[i]];
		int64_t size;
		struct graph_node n = {
			.id = task_name(call, t->row.number),
			.title = space_cut(call, t->row.title, GRAPH_TITLE, &size),
			.state = graph_state_of(t),
			.owner = graph_owner_of(t),
			.layer = (int64_t)t->layer,
			.slot = (int64_t)t->slot,
		};

		if (!space_put(call, out, nodes, &record_graph_node, &n, INT64_MAX) ||
		    !graph_tell_edges(call, g, t, out))
			return;
	}
}

static const char *graph_draw(struct call *call, const struct graph *g,
			      enum graph_form form)
{
	struct drawing d = { .call = call, .g = g };
	const char *text;

	if (form == GRAPH_DOT)
		graph_add_dot(&d);
	else if (form == GRAPH_MERMAID)
		graph_add_mermaid(&d);
	else if (form == GRAPH_SVG)
		graph_add_svg(&d);
	else
		graph_add_tree(&d, SIZE_MAX, "");
	text = arena_strndup(&call->arena, d.text.len ? d.text.data : "", d.text.len);
	free(d.text.data);
	return text;
}

int task_graph(struct call *call, const struct task_graph_in *in,
	       struct task_graph_out *out)
{
	const enum graph_form form = in->svg       ? GRAPH_SVG
				     : in->mermaid ? GRAPH_MERMAID
				     : in->dot     ? GRAPH_DOT
						   : GRAPH_TREE;
	struct graph g = { 0 };
	int rc;

	if (in->dot + in->mermaid + in->svg > 1)
		return fault_set(&call->fault, FAULT_INVALID,
				 in->svg ? "/svg" : "/mermaid",
				 "give one of dot, mermaid and svg");
	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = read_graph(call, &g, in->all)) < 0)
		return rc;
	index_graph(call, &g);
	g.drawn = arena_alloc(&call->arena, GRAPH_MOST * sizeof(*g.drawn));
	for (size_t i = 0; i < g.n; i++) {
		g.nodes[i].parent = SIZE_MAX;
		if (g.nodes[i].waits == 0)
			heap_add(&g, i);
	}
	out->more = graph_find_layers(&g);
	graph_find_slots(&g);
	out->text = graph_draw(call, &g, form);
	if (!space_take_text(call, out->text))
		return fault_set(&call->fault, FAULT_INVALID, "",
				 "the drawing is larger than an answer");
	graph_tell(call, &g, out);
	return 0;
}
