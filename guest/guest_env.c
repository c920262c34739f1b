#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/op/op.h"
#include "guest/guest_inside.h"

struct env {
	char **items;
	size_t n;
	struct arena *arena;
};

int guest_env_check(const char *name, const char *where, struct fault *f)
{
	static const char *const blocked[] = { "PATH", "IFS", "ENV", "BASH_ENV" };

	if (!*name || strchr(name, '='))
		return fault_set(f, FAULT_INVALID, where,
				 "not a variable's name: '%.64s'", name);
	for (size_t i = 0; i < sizeof(blocked) / sizeof(blocked[0]); i++)
		if (strcmp(name, blocked[i]) == 0)
			return fault_set(f, FAULT_INVALID, where,
					 "variable %s may not be set", name);
	if (strncmp(name, "LD_", 3) == 0)
		return fault_set(f, FAULT_INVALID, where, "variable %.64s may not be set",
				 name);
	return 0;
}

static void env_set(struct env *e, char *item)
{
	size_t n = strcspn(item, "=") + 1;
	char **place;

	for (size_t i = 0; i < e->n; i++) {
		if (strncmp(e->items[i], item, n) == 0) {
			e->items[i] = item;
			return;
		}
	}
	place = arena_push(e->arena, &e->items, &e->n, sizeof(*place));
	*place = item;
}

static int add_stored(struct guest *g, struct env *e, struct fault *f)
{
	const char *name = "", *value;
	int rc;

	while ((rc = spool_env(g->spool, name, e->arena, &name, &value, f)) > 0)
		env_set(e, arena_printf(e->arena, "%s=%s", name, value));
	return rc;
}

static bool guest_env_has(const struct env *e, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < e->n; i++)
		if (strncmp(e->items[i], name, n) == 0 && e->items[i][n] == '=')
			return true;
	return false;
}

/* Adds the variables that tell commands how to reach the host, and as which agent;
 * CADRE_SOCKET in the guest's own environment means that they are set already. */
static void add_door(struct guest *g, struct env *e)
{
	if (guest_env_has(e, "CADRE_SOCKET"))
		return;
	env_set(e, arena_printf(e->arena, "CADRE_SOCKET=%s", g->door));
	if (*g->team)
		env_set(e, arena_printf(e->arena, "CADRE_TEAM=%s", g->team));
	if (*g->agent)
		env_set(e, arena_printf(e->arena, "CADRE_AGENT=%s", g->agent));
}

int guest_env(struct guest *g, const struct pair *more, size_t n, struct arena *a,
	      char ***out, struct fault *f)
{
	const char *const *own = g->options->env;
	struct env e = { .arena = a };
	char **end;
	int rc;

	for (char **p = environ; *p; p++)
		env_set(&e, *p);
	for (; own && *own; own++)
		env_set(&e, arena_strdup(a, *own));
	add_door(g, &e);
	rc = add_stored(g, &e, f);
	for (size_t i = 0; i < n && !rc; i++) {
		rc = guest_env_check(more[i].key, "/env", f);
		env_set(&e, arena_printf(a, "%s=%s", more[i].key, more[i].value));
	}
	if (rc)
		return rc;
	env_set(&e, arena_printf(a, "CADRE_WORKSPACE=%s", spool_owner(g->spool)));
	env_set(&e, arena_printf(a, "CADRE_GUEST=%s", g->state));
	end = arena_push(a, &e.items, &e.n, sizeof(*end));
	*end = NULL;
	*out = e.items;
	return 0;
}
