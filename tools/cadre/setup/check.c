/*
 * check - finds parts of a client that are not as `cadre setup` makes these parts.
 *
 * An entry or hook may be missing, may name another program or a missing program, or may act as
 * the operator. A file may be broken, or a setting may switch a part off. Instructions may be
 * left in a file although the client has no other part.
 */
#include <stdio.h>
#include <string.h>

#include "core/home/paths.h"
#include "tools/cadre/setup/setup.h"

/* --- settings that switch a part off -------------------------------------------------------- */

/* A person's settings may stop a client from using the MCP server or the hooks that setup has
 * written. Setup names these settings, but never changes them. */

/* The offset of the value that switches the part off; SIZE_MAX: the setting does not switch the
 * part off. */
static size_t off_at(const struct setup_off *off, const struct setup_value *v)
{
	const struct jsonc *node = v->node ? v->node->first : NULL;
	const json_t *word;
	size_t i;

	if (!off->word)
		return json_is_boolean(v->value) && json_is_true(v->value) ==
							    (off->how == OFF_WHERE_TRUE)
			       ? v->at
			       : SIZE_MAX;
	json_array_foreach(v->value, i, word) {
		if (json_is_string(word) && !strcmp(json_string_value(word), off->word))
			return off->how == OFF_WHERE_NAMED && node ? node->from
								   : SIZE_MAX;
		node = node ? node->next : NULL;
	}
	return off->how == OFF_UNLESS_NAMED && json_is_array(v->value) ? v->at : SIZE_MAX;
}

/* A text that names the place where a file switches the part off. NULL: the file is missing, or
 * does not switch the part off. */
static const char *off_look_in(struct setup_plan *p, const struct setup_off *off,
			       bool toml, const char *path, const char *shown)
{
	const char *part = off->part == PART_HOOKS ? "the hooks" : "the MCP server";
	struct fault f = { 0 }, unread = { 0 };
	struct setup_value v = { 0 };
	struct setup_target t;

	if (!setup_target_find(&t, path, shown, "", &unread) &&
	    !setup_target_read(&t, &unread) &&
	    !setup_find_value(&p->arena, &t.draft, toml, off->key, &v, &unread) &&
	    off_at(off, &v) != SIZE_MAX)
		jsonc_refuse(&t.draft, off_at(off, &v), &f, "%s switches %s off",
			     off->key, part);
	json_decref(v.value);
	setup_target_release(&t);
	return f.code ? arena_strdup(&p->arena, f.text) : NULL;
}

/* The path of the i-th file that may switch a part off. These files are the user's file, the
 * project's file, and a file of the project that git does not track. False: there is no i-th
 * file. */
static bool off_path_of(const struct setup_plan *p, const struct setup_client *c,
			const struct setup_off *off, int i, char out[4096])
{
	if (!p->project[0] && (i || off->in_project))
		return false;
	return i < 2 ? setup_client_path(c, off->file, i ? p->project : "", out)
		     : c->local && paths_join(out, p->project, c->local);
}

struct setup_found_off *setup_plan_off(struct setup_plan *p, const struct setup_client *c)
{
	struct setup_found_off found, *out = NULL;
	char path[4096];
	size_t n = 0;

	for (const struct setup_off *off = c->off; off && off->key; off++)
		for (int i = 0; i < 3; i++) {
			if (!off_path_of(p, c, off, i, path))
				continue;
			found.file = arena_strdup(&p->arena, setup_plan_shown(p, path));
			found.text = off_look_in(p, off, c->toml && off->file == PART_MCP,
						 path, found.file);
			if (found.text)
				arena_add(&p->arena, out, n, found);
		}
	arena_add(&p->arena, out, n, (struct setup_found_off){ 0 });
	return out;
}

/* --- findings about a client ------------------------------------------------------------------ */

struct seen {
	struct setup_target *reads; /* the client's file of instructions, or NULL */
	struct text wrong;
	struct text mend; /* files that a person has to mend */
	int ours, yours; /* numbers of entries and hooks: put by setup, and written by a
			    person */
	bool may_have; /* a file that cannot be read may have setup's parts */
	bool misled; /* a person's entry for cadre does not work as it should */
};

/* Adds a text to a list if the list does not have the text yet. The same text can come twice,
 * since two parts may be in one file. */
static void check_add(struct text *out, const char *between, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void check_add(struct text *out, const char *between, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!out->len || !strstr(out->data, text))
		text_addf(out, "%s%s", out->len ? between : "", text);
}

#define wrong(s, ...) check_add(&(s)->wrong, "; ", __VA_ARGS__)
#define to_mend(s, file) check_add(&(s)->mend, ", ", "%s", file)

static void check_look_at(struct setup_plan *p, const struct setup_client *c,
			  enum setup_part part, struct seen *s)
{
	static const char *const names[] = { "the MCP server", "hooks",
					     "the instructions" };
	const char *name = names[part], *file;
	struct setup_tally t;
	struct fault f = { 0 };
	struct setup_target *target = setup_plan_target(p, c, part, &f);

	file = target ? target->shown : "that file";
	if (setup_plan_look(p, c, part, &t, &f)) {
		wrong(s, "%s", f.text);
		to_mend(s, file);
		s->may_have |= part != PART_TEXT && f.code != FAULT_CONFLICT &&
			       setup_plan_may_have(p, target, &f);
		return;
	}
	if (t.missing)
		wrong(s, "%s: %d of %d missing (%s)", name, t.missing,
		      t.missing + t.found, file);
	if (t.changed && (part == PART_TEXT || (part == PART_HOOKS && !c->hook)))
		wrong(s, "%s: of another version (%s)", name, file);
	if (t.gone[0])
		wrong(s, "%s: there is no %s any more (%s)", name, t.gone, file);
	if (t.other[0])
		wrong(s, "%s: %s is another program than this (%s)", name, t.other, file);
	if (t.as_operator)
		wrong(s, "%s: --operator makes it act as the operator (%s)", name, file);
	/* Setup does not change a person's entry, so a person has to mend the entry. */
	if (part == PART_MCP && t.yours && (t.gone[0] || t.other[0] || t.as_operator)) {
		s->misled = true;
		to_mend(s, file);
	}
	if (part != PART_TEXT) {
		s->ours += t.found - t.yours;
		s->yours += t.yours;
	}
}

/* Whether instructions are left although no client that is set up reads them. Of the clients
 * that read leftover instructions, the first client reports them. Each later client reports
 * them only if the later client's files are broken. */
static bool is_left_over(struct setup_plan *p, const struct setup_client *c,
			 const struct seen *all, struct seen *s)
{
	struct setup_target *t = s->reads;
	struct fault f = { 0 };
	struct setup_tally tally;

	if (!t || (t->told && !s->mend.len))
		return false;
	for (int i = 0; setup_clients[i].name; i++)
		if (all[i].reads == t && (all[i].ours || all[i].yours || all[i].may_have))
			return false;
	setup_plan_look(p, c, PART_TEXT, &tally, &f);
	if (f.code ? f.code == FAULT_CONFLICT || !setup_plan_may_have(p, t, &f)
		   : !tally.found)
		return false;
	wrong(s, "instructions of this client or another are still there (%s)", t->shown);
	return t->told = true;
}

static int check_client(struct setup_plan *p, const struct setup_client *c,
			struct seen *all, bool asked, setup_say *say, void *arg)
{
	const char *place = p->project[0] ? "--project" : "--user", *todo;
	struct seen *s = &all[c - setup_clients];
	bool left_over, any;
	int bad;

	if (s->ours || s->yours)
		for (struct setup_found_off *o = setup_plan_off(p, c); o->text; o++) {
			wrong(s, "%s", o->text);
			to_mend(s, o->file);
		}
	left_over = is_left_over(p, c, all, s);
	check_look_at(p, c, PART_TEXT, s);
	any = s->ours || s->may_have || s->misled || left_over;
	bad = s->wrong.len > 0 && (any || asked);
	todo = arena_printf(&p->arena, "%s%s%scadre setup %s %s%s%s",
			    s->mend.len ? "mend " : "", s->mend.len ? s->mend.data : "",
			    s->mend.len ? ", then " : "", c->name, place,
			    left_over ? "; or remove it: cadre setup --remove " : "",
			    left_over ? place : "");
	if (bad)
		say(arg, false, c, any || s->mend.len ? s->wrong.data : "is not set up",
		    todo);
	else if (any || asked)
		say(arg, true, c,
		    p->project[0] ? "is set up in the project" : "is set up for the user",
		    NULL);
	return bad;
}

int setup_check(struct setup_plan *p, bool asked, setup_say *say, void *arg)
{
	struct seen all[SETUP_CLIENTS] = { 0 };
	int bad = 0;

	for (int i = 0; setup_clients[i].name; i++) {
		struct fault ignored = { 0 };

		check_look_at(p, &setup_clients[i], PART_MCP, &all[i]);
		check_look_at(p, &setup_clients[i], PART_HOOKS, &all[i]);
		all[i].reads =
			setup_plan_target(p, &setup_clients[i], PART_TEXT, &ignored);
	}
	for (const struct setup_client **c = p->clients; *c; c++)
		bad += check_client(p, *c, all, asked, say, arg);
	for (int i = 0; i < SETUP_CLIENTS; i++) {
		text_release(&all[i].wrong);
		text_release(&all[i].mend);
	}
	return bad;
}
