/*
 * off - settings by which a person keeps a client from using the server or the hooks that setup
 * told the client of.  Setup names these settings, but never changes them.
 */
#include <string.h>

#include "core/config/toml.h"
#include "core/home/paths.h"
#include "tools/cadre/setup/setup.h"

/* Goes on to the next key: false, there is none. */
static bool next_key(struct arena *a, const char **at, const char **key)
{
	size_t n = strcspn(*at, ".");

	*key = arena_strndup(a, *at, n);
	*at += n + ((*at)[n] == '.');
	return n > 0;
}

/* The value in a file of JSON that switches the part off, or NULL. */
static const struct jsonc *find_switch(struct arena *a, const struct setup_draft *d,
				       const struct setup_off *off, const struct jsonc *v)
{
	const struct jsonc *item;
	const char *at = off->key, *key;

	while (v && next_key(a, &at, &key))
		v = jsonc_member(d, v, key);
	if (!v)
		return NULL;
	if (!off->word)
		return v->kind == (off->how == OFF_WHERE_TRUE ? 't' : 'f') ? v : NULL;
	if (v->kind != '[')
		return NULL;
	for (item = v->first; item; item = item->next) {
		const char *text = jsonc_text(a, d, item);

		if (text && !strcmp(text, off->word))
			break;
	}
	return off->how == OFF_WHERE_NAMED ? item : item ? NULL : v;
}

static void look_in_json(struct arena *a, const struct setup_draft *d,
			 const struct setup_off *off, const char *what, struct fault *f)
{
	struct fault broken = { 0 };
	const struct jsonc *found = NULL;
	struct jsonc *root;

	if (jsonc_read(a, d, &root, &broken) == 0)
		found = find_switch(a, d, off, root);
	if (found)
		jsonc_refuse(d, jsonc_start(found), f, "%s", what);
}

static void look_in_toml(struct arena *a, const struct setup_draft *d,
			 const struct setup_off *off, const char *what, struct fault *f)
{
	const char *text = d->text.len ? d->text.data : "", *at = off->key, *key;
	const struct toml_entry *e = NULL;
	struct fault broken = { 0 };
	struct toml_table *t;

	if (toml_read(a, d->name, text, d->text.len, &t, &broken) < 0)
		return;
	while (t && next_key(a, &at, &key)) {
		e = toml_find(t, key, strlen(key));
		t = e && e->value.kind == TOML_TABLE ? e->value.table : NULL;
	}
	if (e && !*at && e->value.kind == TOML_BOOL &&
	    e->value.boolean == (off->how == OFF_WHERE_TRUE))
		toml_refuse(d->name, e->at, f, "%s", what);
}

/* Says where a file, which need not be there, switches the part off; NULL: it does not. */
static const char *off_look_in(struct setup_plan *p, const struct setup_off *off,
			       bool toml, const char *path, const char *shown)
{
	const char *part = off->part == PART_HOOKS ? "the hooks" : "the MCP server";
	const char *what = arena_printf(&p->arena, "%s switches %s off", off->key, part);
	struct fault f = { 0 }, unread = { 0 };
	struct setup_target t;

	if (!setup_target_find(&t, path, shown, NULL, &unread) &&
	    !setup_target_read(&t, &unread))
		(toml ? look_in_toml : look_in_json)(&p->arena, &t.draft, off, what, &f);
	setup_target_release(&t);
	return f.code ? arena_strdup(&p->arena, f.text) : NULL;
}

/* The files in which a switch may stand: the user's, the project's, and one of the project that
 * git does not track. */
static bool off_path_of(const struct setup_plan *p, const struct setup_client *c,
			const struct setup_off *off, int i, char out[4096])
{
	const char *project = p->project[0] ? p->project : NULL;

	if (i == 0)
		return setup_client_path(c, off->file, NULL, out);
	if (i == 1)
		return project && setup_client_path(c, off->file, project, out);
	return project && c->local && paths_join(out, project, c->local);
}

void setup_plan_off(struct setup_plan *p, const struct setup_client *c,
		    enum setup_part part, struct setup_found_off **out, size_t *n)
{
	struct setup_found_off found;
	char path[4096];

	*n = 0;
	for (const struct setup_off *off = c->off; off && off->key; off++)
		for (int i = 0; i < 3; i++) {
			if (off->part != part || (off->in_project && !p->project[0]) ||
			    !off_path_of(p, c, off, i, path))
				continue;
			found.file = arena_strdup(&p->arena, setup_plan_shown(p, path));
			found.text = off_look_in(p, off, c->toml && off->file == PART_MCP,
						 path, found.file);
			if (found.text)
				*(struct setup_found_off *)arena_push(
					&p->arena, out, n, sizeof(found)) = found;
		}
}
