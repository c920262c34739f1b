/*
 * setup - writes cadre's MCP server, hooks and instructions into the files of clients.
 */
#include "tools/cadre/setup/setup.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct setup {
	struct cli *cli;
	struct setup_plan plan;
	bool user, project, detect, all, dry_run, diff, remove, check;
	bool asked; /* the report includes clients without any part */
	int n; /* number of chosen clients */
	json_t *lines; /* the answer's objects for --json */
};

/* --- words ----------------------------------------------------------------------------------- */

/* The names of all clients, in the plan's arena. */
static const char *setup_names(struct setup *s)
{
	const char *names = "";

	for (const struct setup_client *c = setup_clients; c->name; c++)
		names = arena_printf(&s->plan.arena, "%s%s%s", names, *names ? ", " : "",
				     c->name);
	return names;
}

static void take_client(struct setup *s, const struct setup_client *c)
{
	for (int i = 0; i < s->n; i++)
		if (s->plan.clients[i] == c)
			return;
	s->plan.clients[s->n++] = c;
}

static int setup_take_word(struct setup *s, const char *word, struct fault *f)
{
	const struct setup_client *c = setup_client_named(word);
	const struct {
		const char *name;
		bool *flag;
	} flags[] = { { "--user", &s->user },       { "--project", &s->project },
		      { "--detect", &s->detect },   { "all", &s->all },
		      { "--dry-run", &s->dry_run }, { "--diff", &s->diff },
		      { "--remove", &s->remove },   { "--check", &s->check } };

	if (c) {
		take_client(s, c);
		return 0;
	}
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (!strcmp(word, flags[i].name)) {
			*flags[i].flag = true;
			return 0;
		}
	fault_set(f, FAULT_INVALID, "", "%.60s is neither a known client nor an option",
		  word);
	return fault_hint(f, "Name one of %s, or all; or use --detect.", setup_names(s));
}

/* Chooses the clients. With --check or --remove, the user need not name a client. */
static int setup_choose(struct setup *s, struct fault *f)
{
	bool named = s->n > 0, any = s->check || s->remove;

	s->asked = named || s->all || s->detect;
	for (const struct setup_client *c = setup_clients; c->name; c++)
		if (s->all || (s->detect && setup_client_there(c)) ||
		    (!named && !s->detect && any))
			take_client(s, c);
	if (s->n || any)
		return 0;
	if (s->detect) {
		fault_set(f, FAULT_NOT_FOUND, "",
			  "none of the clients is installed here");
		return fault_hint(f, "Name a client anyway: %s.", setup_names(s));
	}
	fault_set(f, FAULT_INVALID, "", "no client is named");
	return fault_hint(f,
			  "Name one of %s, or all; --detect takes the installed clients.",
			  setup_names(s));
}

static int setup_find_place(struct setup *s, struct fault *f)
{
	bool found = setup_plan_begin(&s->plan);

	if (s->user && s->project)
		return fault_set(f, FAULT_INVALID, "", "--user or --project, not both");
	if (s->check && s->remove)
		return fault_set(f, FAULT_INVALID, "", "--check or --remove, not both");
	if (s->user) {
		s->plan.project[0] = '\0';
		for (int i = 0; s->plan.clients[i] && !f->code; i++)
			setup_client_check(s->plan.clients[i], f);
		return f->code;
	}
	if (!s->plan.project[0]) {
		fault_set(f, FAULT_NOT_FOUND, "", "the current directory is gone");
		return fault_hint(f, "Go to an existing directory.");
	} else if (!found && !s->project) {
		fault_set(f, FAULT_INVALID, "",
			  "this directory is in no project: it has neither a git "
			  "repository nor a state");
		return fault_hint(
			f, "--user takes the files for all your projects; --project "
			   "takes this folder");
	}
	return 0;
}

/* --- setting up and removing -------------------------------------------------------------------- */

static void print_diff(const struct setup *s, const struct text *diff)
{
	static const char signs[] = "+-@", *const colors[] = { "32", "31", "36" };
	struct arena a = { 0 };

	for (const char *at = diff->data; at && *at;) {
		size_t n = strcspn(at, "\n");
		const char *line = cli_plain(&a, arena_strndup(&a, at, n), false);
		const char *sign = s->cli->color && n ? strchr(signs, *at) : NULL;

		if (sign)
			printf("\033[%sm%s\033[0m\n", colors[sign - signs], line);
		else
			printf("%s\n", line);
		at += n + (at[n] == '\n');
	}
	arena_release(&a);
}

/* Prints the change of a file. Unless --dry-run is given, also writes the file. */
static void setup_apply(struct setup *s, struct setup_target *t, struct fault *f)
{
	const char *act = !t->was ? "make" : !t->draft.there ? "remove" : "change";
	const char *done = !t->was ? "made" : !t->draft.there ? "removed" : "changed";
	struct text diff = { 0 };

	if (s->cli->json || s->diff)
		setup_diff(t, &diff);
	if (!s->dry_run && setup_target_write(t, f) < 0)
		;
	else if (s->cli->json)
		json_array_append_new(s->lines, json_pack("{so,ss,so}", "path",
							  json_text(t->path), "act", act,
							  "diff", json_text(diff.data)));
	else if (s->diff)
		print_diff(s, &diff);
	else
		cli_say("%s %s", s->dry_run ? act : done, t->shown);
	text_release(&diff);
}

static const char *setup_place_of(const struct setup *s)
{
	return s->plan.project[0] ? s->plan.project : "your own files";
}

/* Says what the user does next with the files that setup has written. */
static void print_next(const struct setup *s)
{
	if (s->plan.project[0])
		cli_say("note: commit these files: a worktree has only committed files");
	for (const struct setup_client *const *c = s->plan.clients; *c; c++)
		if (!s->all && !setup_client_there(*c))
			cli_say("note: %s is not installed here; the files wait for it",
				(*c)->name);
	for (const struct setup_client *const *c = s->plan.clients; *c; c++)
		if (setup_run_knows((*c)->name)) {
			cli_say("next: cadre agent run NAME --worktree -- %s",
				(*c)->name);
			return;
		}
}

static void print_end(const struct setup *s, int changed)
{
	const char *where = setup_place_of(s);
	const json_t *note;
	size_t i;

	json_array_foreach(s->plan.notes, i, note)
		cli_say("%s", json_string_value(note));
	if (!changed)
		cli_say("nothing to do in %s", where);
	else
		cli_say("%s %d file%s in %s", s->dry_run ? "would change" : "changed",
			changed, changed > 1 ? "s" : "", where);
	for (const struct setup_client *const *c = s->plan.clients;
	     changed && !s->remove && *c; c++)
		if ((*c)->note)
			cli_say("note: %s", (*c)->note);
	if (changed && !s->remove && s->plan.project[0] && s->plan.command[0] == '/')
		cli_say("note: cadre is not in PATH, so these files name it as %s. Where that "
			"path is missing, they cannot start cadre",
			s->plan.command);
	if (changed && !s->remove && !s->dry_run)
		print_next(s);
}

static int setup_change_files(struct setup *s, struct fault *f)
{
	int changed = 0;

	s->plan.passing = s->remove && !s->asked;
	if ((s->remove ? setup_plan_cut : setup_plan_put)(&s->plan, f) < 0)
		return f->code;
	for (size_t i = 0; i < s->plan.n_targets && !f->code; i++)
		if (setup_target_changed(s->plan.targets[i])) {
			setup_apply(s, s->plan.targets[i], f);
			changed++;
		}
	/* Removes the folders that setup made, including folders left by a setup that was
	 * killed. */
	for (size_t i = 0; s->remove && !s->dry_run && i < s->plan.n_targets; i++)
		if (!s->plan.targets[i]->draft.there)
			setup_target_remove_folders(s->plan.targets[i]->path);
	if (f->code)
		return f->code;
	if (!s->remove)
		setup_plan_note_off(&s->plan);
	if (!s->cli->json)
		print_end(s, changed);
	return json_array_size(s->plan.left) > 0;
}

static int setup_change(struct setup *s, struct fault *f)
{
	int lock = s->dry_run ? -1 : setup_lock(!s->remove, f), status;

	if (f->code)
		return f->code;
	if (!s->dry_run)
		setup_plan_sweep(&s->plan);
	status = setup_change_files(s, f);
	if (lock >= 0)
		close(lock);
	return status;
}

/* --- checking ------------------------------------------------------------------------------------ */

static void setup_say_checked(void *arg, bool ok, const struct setup_client *c,
			      const char *found, const char *todo)
{
	struct setup *s = arg;

	json_array_append_new(s->lines, json_pack("{ss,sb,so,so*}", "client", c->name,
						  "ok", ok, "found", json_text(found),
						  "todo", todo ? json_text(todo) : NULL));
	if (s->cli->json)
		return;
	cli_say("%-4s %-9s %s", ok ? "ok" : "bad", c->name, found);
	if (todo)
		cli_say("%*s-> %s", 15, "", todo);
}

/* Reports the condition of each client; returns the exit status. */
static int setup_look(struct setup *s)
{
	int bad = setup_check(&s->plan, s->asked, setup_say_checked, s);

	if (!json_array_size(s->lines) && !s->cli->json)
		cli_say("no client is set up in %s", setup_place_of(s));
	return bad > 0;
}

int setup_main(struct cli *cli, int argc, char **argv)
{
	struct setup s = { .cli = cli };
	struct fault f = { 0 };
	int status = 0;

	for (int i = 1; i < argc && !f.code; i++)
		setup_take_word(&s, argv[i], &f);
	s.lines = json_array();
	if (!f.code && setup_choose(&s, &f) == 0 && setup_find_place(&s, &f) == 0)
		status = s.check ? setup_look(&s) : setup_change(&s, &f);
	if (f.code) {
		status = cli_fault(cli, &f);
	} else if (cli->json) {
		print_json_new(json_pack("{sO,sO*,sO*}", s.check ? "clients" : "files",
					 s.lines, "notes", s.check ? NULL : s.plan.notes,
					 "may_be_left", s.remove ? s.plan.left : NULL));
	}
	json_decref(s.lines);
	setup_plan_release(&s.plan);
	return status;
}
