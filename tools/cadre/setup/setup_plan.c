/*
 * setup_plan - the files that a run of setup changes. Each file is read once and written once.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/home/home_find.h"
#include "core/home/paths.h"
#include "core/home/here.h"
#include "tools/cadre/setup/setup.h"

/* --- this program ------------------------------------------------------------------------ */

/* The command for this program: `cadre` if PATH leads to this program, else the program's path. */
static const char *setup_plan_find_command(struct arena *a)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0)
		return "cadre";
	self[n] = '\0';
	return setup_runs("cadre", self) == RUNS_SAME ? "cadre" : arena_strdup(a, self);
}

/* --- files ---------------------------------------------------------------------------------- */

bool setup_plan_begin(struct setup_plan *p)
{
	struct found found;
	char git[4096];
	struct stat st;

	p->notes = json_array();
	p->left = json_array();
	p->command = setup_plan_find_command(&p->arena);
	if (!paths_home(p->home))
		p->home[0] = '\0';
	if (!here_place(p->project))
		return false;
	if (paths_join(git, p->project, ".git") && !lstat(git, &st))
		return true;
	/* Outside of git, the project's folder is the folder that contains its state. */
	find_upward(&found, p->project);
	if (!found.path[0])
		return false;
	memcpy(p->project, found.path, sizeof(p->project));
	return paths_up(p->project);
}

void setup_plan_all(struct setup_plan *p)
{
	for (int i = 0; setup_clients[i].name; i++)
		p->clients[i] = &setup_clients[i];
}

const char *setup_plan_shown(struct setup_plan *p, const char *path)
{
	const char *const above[] = { p->project, p->home };

	for (int i = 0; i < 2; i++) {
		size_t n = strlen(above[i]);

		if (n > 1 && !strncmp(path, above[i], n) && path[n] == '/')
			return i ? arena_printf(&p->arena, "~%s", path + n)
				 : path + n + 1;
	}
	return path;
}

/* Whether the client's own instructions of a project import a file that other clients read as
 * well. */
static bool imports(const struct setup_client *c, const char *path)
{
	struct setup_target t;
	struct fault ignored = { 0 };
	bool does = setup_target_find(&t, path, path, "", &ignored) == 0 &&
		    setup_target_read(&t, &ignored) == 0 &&
		    setup_imports(&t.draft, c->import);

	setup_target_release(&t);
	return does;
}

struct setup_target *setup_plan_target(struct setup_plan *p, const struct setup_client *c,
				       enum setup_part part, struct fault *f)
{
	struct setup_target *t;
	char path[4096];

	if (!setup_client_path(c, part, p->project, path))
		return NULL;
	if (part == PART_TEXT && p->project[0] && c->import && imports(c, path))
		paths_join(path, p->project, c->import);
	t = arena_alloc(&p->arena, sizeof(*t));
	if (setup_target_find(t, path, setup_plan_shown(p, path), p->project, f) < 0)
		return NULL;
	for (size_t i = 0; i < p->n_targets; i++)
		if (!strcmp(p->targets[i]->path, t->path))
			return p->targets[i];
	if (setup_target_read(t, f) < 0) {
		setup_target_release(t);
		return NULL;
	}
	arena_add(&p->arena, p->targets, p->n_targets, t);
	return t;
}

void setup_plan_sweep(const struct setup_plan *p)
{
	struct setup_target t;
	char path[4096];

	for (const struct setup_client *c = setup_clients; c->name; c++)
		for (enum setup_part part = PART_MCP; part < PART_COUNT; part++) {
			struct fault ignored = { 0 };

			if (setup_client_path(c, part, p->project, path) &&
			    !setup_target_find(&t, path, path, p->project, &ignored))
				setup_target_sweep(t.path);
		}
}

void setup_plan_release(struct setup_plan *p)
{
	for (size_t i = 0; i < p->n_targets; i++)
		setup_target_release(p->targets[i]);
	json_decref(p->notes);
	json_decref(p->left);
	arena_release(&p->arena);
}

/* --- parts in the files ------------------------------------------------------------------------ */

int setup_plan_look(struct setup_plan *p, const struct setup_client *c,
		    enum setup_part part, struct setup_tally *tally, struct fault *f)
{
	struct setup_target *t = setup_plan_target(p, c, part, f);
	struct setup_draft copy;

	*tally = (struct setup_tally){ 0 };
	if (!t)
		return f->code;
	copy = (struct setup_draft){ .name = t->draft.name, .there = t->draft.there };
	text_add(&copy.text, t->draft.text.data, t->draft.text.len);
	setup_put(c, part, p->command, &copy, tally, f);
	text_release(&copy.text);
	return f->code;
}

/* Whether a client's files have an entry of the MCP server or a hook that setup put there. */
static bool setup_plan_has(struct setup_plan *p, const struct setup_client *c)
{
	for (enum setup_part part = PART_MCP; part <= PART_HOOKS; part++) {
		struct setup_tally tally;
		struct fault ignored = { 0 };

		setup_plan_look(p, c, part, &tally, &ignored);
		if (tally.found > tally.yours)
			return true;
	}
	return false;
}

bool setup_plan_may_have(const struct setup_plan *p, const struct setup_target *t,
			 const struct fault *f)
{
	const char *s;

	if (!t)
		/* A link leads out of the project (check_inside() in setup_target.c), and setup
		 * never writes to the place to which such a link leads. */
		return f->code != FAULT_DENIED;
	s = t->before.len ? t->before.data : "";
	return memmem(s, t->before.len, "cadre", 5) ||
	       memmem(s, t->before.len, p->command, strlen(p->command));
}

/* --- edits ---------------------------------------------------------------------------------------- */

/* Adds a text to a list if the list does not have the text yet. */
static void setup_plan_add(json_t *list, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void setup_plan_add(json_t *list, const char *fmt, ...)
{
	char text[4200];
	const json_t *other;
	json_t *added;
	va_list ap;
	size_t i;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	added = json_text(text);
	json_array_foreach(list, i, other)
		if (json_equal(other, added))
			break;
	if (i == json_array_size(list))
		json_array_append(list, added);
	json_decref(added);
}

/* Notes that setup leaves a person's entries for cadre unchanged. Also notes a person's entry
 * that runs no program, or a program other than this program. */
static void note_yours(struct setup_plan *p, const struct setup_target *t,
		       enum setup_part part, const struct setup_tally *tally)
{
	const char *odd = "";

	if (tally->other[0])
		odd = arena_printf(&p->arena, "; it runs %s, another program than this",
				   tally->other);
	else if (tally->gone[0])
		odd = arena_printf(&p->arena, "; there is no %s any more", tally->gone);
	if (tally->yours && part == PART_MCP)
		setup_plan_add(p->notes,
			       "kept: the entry cadre in %s, which differs from the "
			       "entry of setup%s",
			       t->shown, odd);
	else if (tally->yours)
		setup_plan_add(p->notes,
			       "kept: %d of the hooks in %s, which differ from the hooks "
			       "of setup",
			       tally->yours, t->shown);
}

void setup_plan_note_off(struct setup_plan *p)
{
	for (const struct setup_client **c = p->clients; *c; c++)
		for (struct setup_found_off *off = setup_plan_off(p, *c); off->text;
		     off++)
			setup_plan_add(p->notes, "note: %s", off->text);
}

/* Refuses a path of this program that cannot be written in JSON or TOML. */
static int setup_plan_check_command(const struct setup_plan *p, struct fault *f)
{
	json_t *text = json_string(p->command);

	json_decref(text);
	if (text)
		return 0;
	fault_set(f, FAULT_INVALID, "",
		  "the path of this program is not UTF-8, but the files of clients must "
		  "be: %.150s",
		  p->command);
	return fault_hint(f, "Add the program's folder to PATH, or move the program to a "
			     "folder with another name.");
}

int setup_plan_put(struct setup_plan *p, struct fault *f)
{
	setup_plan_check_command(p, f);
	for (const struct setup_client **c = p->clients; *c; c++)
		for (enum setup_part part = PART_MCP; part < PART_COUNT && !f->code;
		     part++) {
			struct setup_target *t = setup_plan_target(p, *c, part, f);
			struct setup_tally tally = { 0 };

			if (t)
				setup_put(*c, part, p->command, &t->draft, &tally, f);
			if (t && !f->code)
				setup_target_check(t, f);
			note_yours(p, t, part, &tally);
		}
	return f->code;
}

/* Whether another client reads the same instructions and stays set up. */
static bool is_shared(struct setup_plan *p, const struct setup_target *t)
{
	for (const struct setup_client *c = setup_clients; c->name; c++) {
		struct fault ignored = { 0 };

		/* If a client is being removed, its drafts have no parts any more. */
		if (setup_plan_target(p, c, PART_TEXT, &ignored) == t &&
		    setup_plan_has(p, c))
			return true;
	}
	return false;
}

/* Notes once that a file cannot be edited, and clears the fault. */
static void setup_plan_pass_over(struct setup_plan *p, const struct setup_client *c,
				 enum setup_part part, const struct setup_target *t,
				 struct fault *f)
{
	bool may = setup_plan_may_have(p, t, f);
	char path[4096] = "";

	setup_plan_add(p->notes, "skipped: %s%s", f->text,
		       may ? "; parts of cadre may still be in the file" : "");
	if (may && (t || setup_client_path(c, part, p->project, path)))
		setup_plan_add(p->left, "%s", t ? t->path : path);
	*f = (struct fault){ 0 };
}

static void cut_part(struct setup_plan *p, const struct setup_client *c,
		     enum setup_part part, struct fault *f)
{
	struct setup_target *t = setup_plan_target(p, c, part, f);
	struct setup_tally tally;
	struct fault ignored = { 0 };

	/* With `passing`, instructions are removed even if a skipped file may still need them. */
	if (t && (part != PART_TEXT || p->passing || !is_shared(p, t)))
		setup_cut(c, part, p->command, &t->draft, f);
	if (t && (f->code || setup_target_check(t, f) < 0))
		setup_target_undo(t);
	if (t && !f->code && setup_plan_look(p, c, part, &tally, &ignored) == 0)
		note_yours(p, t, part, &tally);
	if (f->code && p->passing)
		setup_plan_pass_over(p, c, part, t, f);
}

int setup_plan_cut(struct setup_plan *p, struct fault *f)
{
	static const enum setup_part order[] = { PART_HOOKS, PART_MCP, PART_TEXT };
	int n = 0;

	while (p->clients[n])
		n++;
	for (int k = 0; k < PART_COUNT; k++)
		for (int i = n; i-- && !f->code;)
			cut_part(p, p->clients[i], order[k], f);
	return f->code;
}
