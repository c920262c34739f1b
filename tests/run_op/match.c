/* Compares expected and actual answers, and binds names to values. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/run_op/script.h"

/* "@08:15:00" is a time of the first day of 2026. */
static bool is_time(const char *want, const char *got)
{
	char full[40];

	snprintf(full, sizeof(full), "2026-01-01T%s%s", want + 1,
		 strlen(want) == 9 ? ".000Z" : "Z");
	return strcmp(full, got) == 0;
}

static const char *differ(struct script *s, json_t *want, json_t *got)
{
	char *w = json_dumps(want, JSON_ENCODE_ANY | JSON_COMPACT);
	char *g = got ? json_dumps(got, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
	const char *text =
		arena_printf(&s->arena, ": expected %s, got %s", w, g ? g : "nothing");

	free(w);
	free(g);
	return text;
}

static const char *match_text(struct script *s, json_t *want, json_t *got)
{
	const char *w = json_string_value(want);
	json_t *bound;

	if (strcmp(w, "*") == 0)
		return got ? NULL : ": missing";
	if (strcmp(w, "-") == 0)
		return got ? differ(s, want, got) : NULL;
	if (!got)
		return differ(s, want, got);
	if (w[0] == '$') {
		bound = json_object_get(s->vars, w + 1);
		if (bound)
			return json_equal(bound, got) ? NULL : differ(s, bound, got);
		json_object_set(s->vars, w + 1, got);
		return NULL;
	}
	if (!json_is_string(got))
		return differ(s, want, got);
	if (w[0] == '@' && is_time(w, json_string_value(got)))
		return NULL;
	return strcmp(w, json_string_value(got)) ? differ(s, want, got) : NULL;
}

static const char *match_list(struct script *s, json_t *want, json_t *got)
{
	size_t n = json_array_size(want), i;
	const char *last = n ? json_string_value(json_array_get(want, n - 1)) : NULL;
	const char *bad;

	if (last && strcmp(last, "...") == 0)
		n--;
	else if (json_array_size(got) != n)
		return arena_printf(&s->arena, ": expected %zu items%s", n,
				    differ(s, want, got));
	for (i = 0; i < n; i++)
		if ((bad = match(s, json_array_get(want, i), json_array_get(got, i))))
			return arena_printf(&s->arena, "/%zu%s", i, bad);
	return NULL;
}

static const char *match_object(struct script *s, json_t *want, json_t *got)
{
	const char *key, *bad;
	json_t *v;

	json_object_foreach(want, key, v)
		if ((bad = match(s, v, json_object_get(got, key))))
			return arena_printf(&s->arena, "/%s%s", key, bad);
	return NULL;
}

const char *match(struct script *s, json_t *want, json_t *got)
{
	if (json_is_string(want))
		return match_text(s, want, got);
	if (!got || json_typeof(want) != json_typeof(got))
		return differ(s, want, got);
	if (json_is_array(want))
		return match_list(s, want, got);
	if (json_is_object(want))
		return match_object(s, want, got);
	return json_equal(want, got) ? NULL : differ(s, want, got);
}

/* --- arguments of calls -------------------------------------------------------------- */

static json_t *row_of(struct script *s, const char *address)
{
	const char *slash = strchr(address, '/');
	const char *sql;

	if (!slash)
		return NULL;
	sql = arena_printf(&s->arena,
			   "SELECT a.id FROM agent a JOIN team t ON t.id = a.team "
			   "WHERE t.name = '%.*s' AND a.name = '%s' ORDER BY a.id DESC",
			   (int)(slash - address), address, slash + 1);
	return json_integer(world_number(s->world.store, sql));
}

/* Expands a text like "x*300" to 300 copies of x. */
static json_t *repeated(struct script *s, const char *text, const char *star)
{
	size_t unit = (size_t)(star - text), n = strtoul(star + 1, NULL, 10);
	char *all = arena_alloc(&s->arena, unit * n + 1);

	for (size_t i = 0; i < n; i++)
		memcpy(all + i * unit, text, unit);
	return json_string(all);
}

static json_t *fill_text(struct script *s, const char *text)
{
	const char *star = strrchr(text, '*');
	json_t *v;

	if (text[0] == '$') {
		v = json_object_get(s->vars, text + 1);
		if (!v)
			script_wrong(s, "%s is bound to nothing", text);
		return json_incref(v);
	}
	if (text[0] == '#')
		return row_of(s, text + 1);
	if (star && star > text && star[1] &&
	    strspn(star + 1, "0123456789") == strlen(star + 1))
		return repeated(s, text, star);
	return json_string(text);
}

/* Returns N for a list of the form ["x","*N"], and 0 for any other list. */
static size_t times(json_t *list)
{
	const char *last = json_string_value(json_array_get(list, 1));

	if (json_array_size(list) != 2 || !last || last[0] != '*' || !last[1] ||
	    strspn(last + 1, "0123456789") != strlen(last + 1))
		return 0;
	return strtoul(last + 1, NULL, 10);
}

static json_t *fill_list(struct script *s, json_t *v)
{
	json_t *item, *all = json_array();
	size_t i, n = times(v);

	if (n) {
		for (i = 0; i < n; i++)
			json_array_append_new(all, fill_in(s, json_array_get(v, 0)));
		return all;
	}
	json_array_foreach(v, i, item)
		json_array_append_new(all, fill_in(s, item));
	return all;
}

json_t *fill_in(struct script *s, json_t *v)
{
	const char *key;
	json_t *item, *all;

	if (json_is_string(v))
		return fill_text(s, json_string_value(v));
	if (json_is_object(v)) {
		all = json_object();
		json_object_foreach(v, key, item)
			json_object_set_new(all, key, fill_in(s, item));
		return all;
	}
	if (json_is_array(v))
		return fill_list(s, v);
	return json_incref(v);
}
