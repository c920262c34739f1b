/*
 * Reads any bytes as TOML. The result is a fault with file and line, or a tree. Every text,
 * table and place of the tree must be as core/config/toml.h promises. The input is also read as
 * a configuration, and as the plan of a team.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"
#include "core/team/team_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool good)
{
	if (!good)
		abort();
}

static void look_at(const struct toml_value *v, int depth);

static void look_at_table(const struct toml_table *t, int depth)
{
	size_t n = 0;

	must(depth <= TOML_DEPTH);
	for (const struct toml_entry *e = t->first; e; e = e->next, n++) {
		must(toml_find(t, e->key.data, e->key.len) == e);
		must(e->at.line > 0 && e->at.column > 0);
		look_at(&e->value, depth);
	}
	must(n == t->n);
}

static void look_at_time(const struct toml_value *v)
{
	const struct time_parts *t = &v->time;

	must(v->kind == TOML_CLOCK || (t->month > 0 && t->month < 13 && t->day > 0));
	must(t->hour < 24 && t->minute < 60 && t->second <= 60);
	must(t->nanosecond >= 0 && t->nanosecond < 1000000000);
	must(abs(t->offset) < 24 * 60);
}

static void look_at(const struct toml_value *v, int depth)
{
	must(v->at.line > 0 && v->at.column > 0);
	switch (v->kind) {
	case TOML_TEXT:
		must(strlen(v->text.data) <= v->text.len && !v->text.data[v->text.len]);
		break;
	case TOML_TIME:
	case TOML_LOCAL_TIME:
	case TOML_DATE:
	case TOML_CLOCK:
		look_at_time(v);
		break;
	case TOML_ARRAY:
		must(depth < TOML_DEPTH);
		for (size_t i = 0; i < v->array->n; i++)
			look_at(&v->array->items[i], depth + 1);
		break;
	case TOML_TABLE:
		look_at_table(v->table, depth + 1);
		break;
	case TOML_INT:
	case TOML_REAL:
	case TOML_BOOL:
		break;
	}
}

/* Reads the bytes as a configuration. The result is a fault, or values that the configuration's
 * record allows. */
static void try_config(const uint8_t *data, size_t size)
{
	struct config_set s = { .cwd = "/here", .user = "/home/ann" };
	struct fault f = { 0 };
	struct config c;
	const struct config_file file = { .path = "/f",
					  .data = (const char *)data,
					  .len = size };

	if (config_take_file(&s, &file, &f) < 0)
		must(f.code == FAULT_INVALID && !strncmp(f.text, "/f:", 3) && *f.hint);
	else
		config_read(&s, &c);
	config_release(&s);
}

/* Reads the bytes as a plan. The result is a fault at the argument `/plan`, or an order of
 * tasks. Each task is in the order once, after the task's dependencies. Each dependency of a
 * task is the position of another task in this order. */
static void try_plan(const uint8_t *data, size_t size)
{
	struct call call = { 0 };
	const struct team_create_in in = {
		.plan = arena_strndup(&call.arena, (const char *)data, size)
	};
	struct team_create_in whole;
	struct team_plan p;
	const struct plan_task *t;

	if (plan_read(&call, &in, &p, &whole) < 0) {
		must(call.fault.code == FAULT_INVALID &&
		     !strcmp(call.fault.where, "/plan"));
		must(!strncmp(call.fault.text, "plan:", 5) && *call.fault.hint);
	} else {
		must(p.n_order == p.says.team.n_tasks);
		must(whole.n_roles == p.says.team.n_roles);
		for (size_t i = 0; i < p.n_order; i++) {
			t = &p.says.team.tasks[p.order[i]];
			for (size_t k = 0; k < t->n_depends_on; k++)
				must(strtoul(t->depends_on[k], NULL, 10) <= i);
		}
	}
	plan_release(&p);
	arena_release(&call.arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = { 0 };
	struct fault f = { 0 };
	struct toml_table *root;

	try_config(data, size);
	try_plan(data, size);

	if (toml_read(&a, "f", (const char *)data, size, &root, &f) == 0)
		look_at_table(root, 0);
	else
		must(f.code == FAULT_INVALID && !strncmp(f.text, "f:", 2));
	arena_release(&a);
	return 0;
}
