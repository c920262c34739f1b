/* team_plan - reads a team's plan, and puts its tasks on the board. */
#include "core/team/team_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/task/task.h"

/* --- places ------------------------------------------------------------------------------- */

/* Finds an entry of a table by its key, or an item of an array by its index. Returns NULL if
 * there is no such entry or item. */
static const struct toml_value *team_plan_part_of(const struct toml_value *v,
						  const char *name, size_t len,
						  struct toml_place *at)
{
	const struct toml_entry *e;
	size_t i;

	if (v->kind == TOML_ARRAY) {
		i = strtoul(name, NULL, 10);
		if (i >= v->array->n)
			return NULL;
		*at = v->array->items[i].at;
		return &v->array->items[i];
	}
	if (v->kind != TOML_TABLE || !(e = toml_find(v->table, name, len)))
		return NULL;
	*at = e->at;
	return &e->value;
}

/* Finds the place of a value in the text by the value's JSON pointer. If the value is missing,
 * returns the place of the table or array that should have the value. */
static struct toml_place team_plan_place_of(const struct team_plan *p,
					    const char *pointer)
{
	struct toml_value root = { .kind = TOML_TABLE, .table = p->root };
	struct toml_place at = { 1, 1 };

	for (const struct toml_value *v = &root; v && *pointer == '/';) {
		size_t n = strcspn(++pointer, "/");

		v = team_plan_part_of(v, pointer, n, &at);
		pointer += n;
	}
	return at;
}

/* Changes a fault that names a value of the plan, so that the fault names the value's line in
 * the text. */
static int team_plan_blame(struct call *call, const struct team_plan *p)
{
	struct fault *f = &call->fault;
	struct toml_place at = team_plan_place_of(p, f->where);
	char text[150], path[sizeof(f->where)];

	snprintf(path, sizeof(path), "%s", f->where + (*f->where == '/'));
	for (char *c = path; *c; c++)
		*c = *c == '/' ? '.' : *c;
	memcpy(text, f->text, sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	snprintf(f->text, sizeof(f->text), "plan:%d:%d: %s: %s", at.line, at.column, path,
		 text);
	snprintf(f->where, sizeof(f->where), "/plan");
	return f->code;
}

int plan_blame(struct call *call, const struct team_plan *p)
{
	if (strncmp(call->fault.where, "/team/", 6) != 0)
		return call->fault.code;
	return team_plan_blame(call, p);
}

/* Sets a fault that names a key of a task in the plan. */
#define refuse_task(call, p, task, key, ...)                                            \
	(toml_refuse("plan",                                                            \
		     team_plan_place_of(p, arena_printf(&(call)->arena,                 \
							"/team/tasks/%zu/" key, task)), \
		     &(call)->fault, __VA_ARGS__),                                      \
	 fault_move(&(call)->fault, "", "/plan"))

/* --- the text ----------------------------------------------------------------------------- */

/* Refuses a plan in which a task has a command. The work of a claimed task is done by the agent
 * that claims the task. A plan has no way to run a command when a task becomes ready. */
static int check_commands(struct call *call, const struct team_plan *p)
{
	const json_t *tasks = json_object_get(json_object_get(p->json, "team"), "tasks");
	const json_t *task;
	size_t i;

	json_array_foreach(tasks, i, task) {
		if (!json_object_get(task, "command"))
			continue;
		refuse_task(call, p, i, "command", "a plan cannot run commands");
		return fault_hint(&call->fault,
				  "Leave the command out. When the task is ready, assign "
				  "it with a command: {task.assign}.");
	}
	return 0;
}

static int team_plan_read_text(struct call *call, const char *text, struct team_plan *p)
{
	if (toml_read(&call->arena, "plan", text, strlen(text), &p->root, &call->fault) <
	    0)
		return fault_move(&call->fault, "", "/plan");
	p->json = toml_json(&(struct toml_value){ .kind = TOML_TABLE, .table = p->root });
	if (check_commands(call, p) < 0)
		return call->fault.code;
	if (op_decode(&record_plan, p->json, &p->says, DECODE_STRICT, &call->arena,
		      &call->fault) < 0)
		return team_plan_blame(call, p);
	return 0;
}

/* --- tasks: their dependencies ------------------------------------------------------------- */

struct by_id {
	const char *id;
	size_t task;
};

/* A walk from a task to its dependencies. */
struct walk {
	struct call *call;
	struct team_plan *p;
	struct plan_task *tasks;
	struct by_id *index; /* sorted by id */
	int64_t *numbers; /* for each task with a place, its number on the board */
	size_t n;
	bool *open, *done; /* marks of tasks on the way, and of tasks with a place */
	size_t *way, n_way;
};

static int team_plan_compare_ids(const void *a, const void *b)
{
	const struct by_id *x = a, *y = b;
	int way = strcmp(x->id, y->id);

	return way ? way : (x->task > y->task) - (x->task < y->task);
}

static int compare_id(const void *id, const void *b)
{
	return strcmp(id, ((const struct by_id *)b)->id);
}

static int index_tasks(struct walk *w)
{
	w->index = arena_alloc(&w->call->arena, (w->n + 1) * sizeof(*w->index));
	for (size_t i = 0; i < w->n; i++)
		w->index[i] = (struct by_id){ w->tasks[i].id, i };
	qsort(w->index, w->n, sizeof(*w->index), team_plan_compare_ids);
	for (size_t i = 1; i < w->n; i++)
		if (strcmp(w->index[i - 1].id, w->index[i].id) == 0)
			return refuse_task(w->call, w->p, w->index[i].task, "id",
					   "another task has the id %s", w->index[i].id);
	return 0;
}

static int refuse_cycle(struct walk *w, size_t task)
{
	const char *text = w->tasks[task].id;
	size_t i = w->n_way;

	do
		text = arena_printf(&w->call->arena, "%s → %s", w->tasks[w->way[--i]].id,
				    text);
	while (w->way[i] != task);
	refuse_task(w->call, w->p, w->way[w->n_way - 1], "depends_on",
		    "the dependencies would form a cycle: %s", text);
	return fault_hint(&w->call->fault, "Leave out one of these dependencies.");
}

/* Gives a task its place in the order, after the tasks for which the task waits. Replaces the
 * ids of the task's dependencies by their numbers on the board. */
static int place_task(struct walk *w, size_t task)
{
	struct plan_task *t = &w->tasks[task];
	int rc = 0;

	if (w->done[task])
		return 0;
	if (w->open[task])
		return refuse_cycle(w, task);
	w->open[task] = true;
	w->way[w->n_way++] = task;
	for (size_t i = 0; i < t->n_depends_on && rc >= 0; i++) {
		const struct by_id *dep = bsearch(t->depends_on[i], w->index, w->n,
						  sizeof(*w->index), compare_id);

		rc = dep ? place_task(w, dep->task)
			 : refuse_task(w->call, w->p, task, "depends_on",
				       "the plan has no task %s", t->depends_on[i]);
		if (rc >= 0)
			t->depends_on[i] = task_name(w->call, w->numbers[dep->task]);
	}
	w->n_way--;
	w->done[task] = true;
	w->p->order[w->p->n_order++] = task;
	w->numbers[task] = (int64_t)w->p->n_order;
	return rc;
}

static int order_tasks(struct call *call, struct team_plan *p)
{
	size_t n = p->says.team.n_tasks;
	struct walk w = { .call = call,
			  .p = p,
			  .tasks = p->says.team.tasks,
			  .n = n,
			  .open = arena_alloc(&call->arena, n + 1),
			  .done = arena_alloc(&call->arena, n + 1),
			  .way = arena_alloc(&call->arena, (n + 1) * sizeof(size_t)),
			  .numbers =
				  arena_alloc(&call->arena, (n + 1) * sizeof(int64_t)) };
	int rc = index_tasks(&w);

	p->order = arena_alloc(&call->arena, (n + 1) * sizeof(*p->order));
	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = place_task(&w, i);
	return rc;
}

/* --- tasks: their assignees ---------------------------------------------------------------- */

static const char *role_of(const struct role *r)
{
	return r->role && *r->role ? r->role : r->name;
}

/* Whether the role makes a member with the name `name`. */
static bool makes(struct call *call, const struct role *r, const char *name)
{
	size_t n = strlen(r->name);
	int64_t k;

	if (r->count == 1)
		return strcmp(r->name, name) == 0;
	if (strncmp(r->name, name, n) != 0 || name[n] != '-')
		return false;
	k = strtol(name + n + 1, NULL, 10);
	return k >= 1 && k <= r->count &&
	       strcmp(arena_printf(&call->arena, "%s-%" PRId64, r->name, k), name) == 0;
}

/* Chooses the member of a role for the next task. The members are chosen in turn. For each
 * entry of in->roles, `turns` counts the tasks that the entry's members have got. Returns NULL
 * if no member has the role. */
static const char *team_plan_next_of(struct call *call, const struct team_create_in *in,
				     const char *role, int64_t *turns)
{
	size_t best = in->n_roles;
	const struct role *r;
	int64_t k;

	for (size_t i = 0; i < in->n_roles; i++) {
		r = &in->roles[i];
		if (strcmp(role_of(r), role) != 0 && strcmp(r->name, role) != 0)
			continue;
		if (best == in->n_roles ||
		    turns[i] / r->count < turns[best] / in->roles[best].count)
			best = i;
	}
	if (best == in->n_roles)
		return NULL;
	r = &in->roles[best];
	k = turns[best]++ % r->count + 1;
	return r->count > 1 ? arena_printf(&call->arena, "%s-%" PRId64, r->name, k)
			    : r->name;
}

static const char *assignee_of(struct call *call, const struct team_create_in *in,
			       const char *name, int64_t *turns)
{
	const char *next;

	for (size_t i = 0; i < in->n_roles; i++)
		if (makes(call, &in->roles[i], name))
			return name;
	if ((next = team_plan_next_of(call, in, name, turns)))
		return next;
	/* A team has a lead and an operator even if no role makes them. */
	return strcmp(name, "lead") == 0 || strcmp(name, "operator") == 0 ? name : NULL;
}

static int assign_tasks(struct call *call, const struct team_create_in *in,
			struct team_plan *p)
{
	size_t n = p->says.team.n_tasks;
	int64_t *turns = arena_alloc(&call->arena, (in->n_roles + 1) * sizeof(*turns));

	p->assignees = arena_alloc(&call->arena, (n + 1) * sizeof(*p->assignees));
	for (size_t i = 0; i < n; i++) {
		const char *name = p->says.team.tasks[i].assign_to;

		if (name && !(p->assignees[i] = assignee_of(call, in, name, turns)))
			return refuse_task(
				call, p, i, "assign_to",
				"%s is neither an agent nor a role of the team", name);
	}
	return 0;
}

/* --- the team ------------------------------------------------------------------------------ */

/* Adds the roles of the plan after the roles of the call. */
static void join_roles(struct call *call, const struct team_create_in *in,
		       const struct plan_team *says, struct team_create_in *whole)
{
	size_t n = in->n_roles + says->n_roles;
	struct role *roles = arena_alloc(&call->arena, (n + 1) * sizeof(*roles));

	for (size_t i = 0; i < n; i++)
		roles[i] = i < in->n_roles ? in->roles[i] : says->roles[i - in->n_roles];
	whole->roles = roles;
	whole->n_roles = n;
}

int plan_read(struct call *call, const struct team_create_in *in, struct team_plan *p,
	      struct team_create_in *whole)
{
	int rc;

	*p = (struct team_plan){ 0 };
	*whole = *in;
	if (!in->plan)
		return 0;
	if ((rc = team_plan_read_text(call, in->plan, p)) < 0)
		return rc;
	record_copy(&record_plan_team, &p->says.team, &record_team_create_in, whole);
	record_copy(&record_team_create_in, in, &record_team_create_in, whole);
	join_roles(call, in, &p->says.team, whole);
	rc = order_tasks(call, p);
	return rc < 0 ? rc : assign_tasks(call, whole, p);
}

void plan_release(struct team_plan *p)
{
	json_decref(p->json);
}

const char *plan_role_at(struct call *call, const struct team_create_in *in, size_t role)
{
	return role < in->n_roles ? arena_printf(&call->arena, "/roles/%zu", role)
				  : arena_printf(&call->arena, "/team/roles/%zu",
						 role - in->n_roles);
}

static int team_plan_add_task(struct call *call, const struct team_plan *p, size_t task)
{
	const struct plan_task *t = &p->says.team.tasks[task];
	const struct task_create_in in = { .title = t->name,
					   .description = t->description,
					   .priority = t->priority,
					   .assignee = p->assignees[task],
					   .depends_on = t->depends_on,
					   .n_depends_on = t->n_depends_on };

	if (task_make(call, &in) >= 0)
		return 0;
	fault_move(&call->fault, call->fault.where,
		   arena_printf(&call->arena, "/team/tasks/%zu", task));
	return plan_blame(call, p);
}

int plan_add_tasks(struct call *call, const struct team_plan *p)
{
	const enum who level = call->caller.level;
	const int64_t team = call->made;
	int rc = 0;

	/* The maker of a team assigns the team's tasks, which only a lead may do. */
	if (level < WHO_LEAD)
		call->caller.level = WHO_LEAD;
	for (size_t i = 0; i < p->n_order && rc >= 0; i++)
		rc = team_plan_add_task(call, p, p->order[i]);
	call->caller.level = level;
	call->made = team;
	return rc;
}
