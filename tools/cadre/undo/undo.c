/* undo - lists what was removed and can be brought back, and brings one of it back. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "ops.gen.h"
#include "tools/cadre/screen/screen.h"
#include "tools/cadre/undo/undo_inside.h"

/* --- one row -------------------------------------------------------------------------- */

static int64_t until_ms(const struct cli *cli, const struct trash_entry *entry)
{
	return entry->removed_at + settings_keep_ms(&cli->home.settings);
}

static json_t *entry_json(const struct cli *cli, const struct trash_entry *entry,
			  const json_t *made)
{
	return json_pack("{s:s, s:I, s:I, s:I, s:b, s:s, s:O*}", "name", entry->name,
			 "removed_at", (json_int_t)entry->removed_at, "until",
			 (json_int_t)until_ms(cli, entry), "bytes",
			 (json_int_t)entry->bytes, "vm", entry->kind == TRASH_VM, "path",
			 entry->path, "brought_back_as", json_object_get(made, "name"));
}

/* A line of the list. */
struct row {
	const char *name, *was, *as; /* as: what was made of it; NULL: nothing */
	int64_t bytes, removed_at, until; /* times in ms */
};

static void undo_add_row(const struct cli *cli, struct table *t, const struct row *r)
{
	time_t at = (time_t)(r->until / 1000);
	char iso[25], until[32];
	struct tm tm;

	time_format(r->removed_at, iso);
	strftime(until, sizeof(until), "%Y-%m-%d", localtime_r(&at, &tm));
	table_cell(t, r->name);
	table_cell(t, screen_time(cli, &t->arena, iso));
	table_cell(t, until);
	table_cell(t,
		   arena_printf(&t->arena, "%" PRId64 " KiB", (r->bytes + 1023) >> 10));
	table_cell(t, r->was);
	table_cell(t, r->as ? r->as : "-");
}

static int64_t time_of(const json_t *row, const char *field)
{
	const char *text = json_string_value(json_object_get(row, field));

	return text ? time_parse(text) : -1;
}

/* --- all of them ---------------------------------------------------------------------- */

/* Removed workspaces and notes, with the workspaces that live. */
struct removed {
	struct arena arena;
	json_t *living, *notes;
	struct trash_entry *entries;
	const char **moving;
	size_t n, n_moving;
};

static void list_rows(const struct cli *cli, const struct removed *r)
{
	static const char *const heads[] = { "NAME", "REMOVED", "KEPT UNTIL",
					     "SIZE", "WAS",     "BROUGHT BACK AS" };
	struct table t = { .n_columns = sizeof(heads) / sizeof(*heads) };
	json_t *note;
	size_t i;

	/* None of them is cut: they are names, and what a person decides by. */
	t.whole = (1 << t.n_columns) - 1;
	for (i = 0; i < t.n_columns; i++)
		table_cell(&t, heads[i]);
	for (i = 0; i < r->n; i++) {
		const struct trash_entry *e = &r->entries[i];
		const json_t *made = undo_made_of(r->living, e);

		undo_add_row(
			cli, &t,
			&(struct row){ e->name, e->kind == TRASH_VM ? "VM" : "folder",
				       json_string_value(json_object_get(made, "name")),
				       e->bytes, e->removed_at, until_ms(cli, e) });
	}
	json_array_foreach(r->notes, i, note)
		undo_add_row(
			cli, &t,
			&(struct row){ json_string_value(json_object_get(note, "path")),
				       "note", NULL,
				       json_integer_value(json_object_get(note, "size")),
				       time_of(note, "removed_at"),
				       time_of(note, "kept_until") });
	table_print(cli, &t, true, 0);
	cli_tell(
		"next: cadre undo NAME [--team TEAM] [--agent AGENT] makes a workspace of one; "
		"cadre undo PATH puts a note back");
}

static void list_json(const struct cli *cli, const struct removed *r)
{
	json_t *all = json_array();

	for (size_t i = 0; i < r->n; i++)
		json_array_append_new(
			all, entry_json(cli, &r->entries[i],
					undo_made_of(r->living, &r->entries[i])));
	all = json_pack("{s:o, s:I, s:O}", "removed", all, "moving",
			(json_int_t)r->n_moving, "notes", r->notes);
	print_json(all);
	json_decref(all);
}

/* Tells of removed workspaces that are not in the trash yet. */
static void list_moving(struct cli *cli, size_t n)
{
	cli_prose(cli,
		  arena_printf(&cli->arena,
			       "%zu more removed workspace%s still to be moved into the "
			       "trash: a running host does that%s",
			       n, n == 1 ? " is" : "s are",
			       undo_stay(cli) ? ". " UNDO_STAY : ""),
		  0);
}

static void list_screen(struct cli *cli, const struct removed *r)
{
	if (r->n || json_array_size(r->notes))
		list_rows(cli, r);
	else if (!r->n_moving)
		cli_prose(
			cli,
			arena_printf(
				&cli->arena,
				"no removed workspaces or notes: what one held is kept "
				"here for %lld days",
				(long long)cli->home.settings.config.workspace_keep_days),
			0);
	if (r->n_moving)
		list_moving(cli, r->n_moving);
}

/* The trash is of all teams, so an agent sees no list of it, and no removed workspace. */
static int undo_check_trash(struct cli *cli, struct fault *f)
{
	if (cli_who(cli, f) < 0 || !cli->home.identity.agent)
		return f->code;
	fault_set(f, FAULT_DENIED, "", "the trash holds what all teams removed");
	return fault_hint(f, "Ask the operator; your team's notes: cadre vault removed.");
}

static int list(struct cli *cli)
{
	struct removed r = { 0 };
	struct fault f = { 0 };

	r.living = undo_living(cli);
	r.notes = run_rows(cli, op_vault_removed, "notes", NULL, NULL, &f);
	r.n = trash_list(cli->home.dir, &r.arena, &r.entries);
	r.n_moving = undo_moving(cli, r.living, &r.arena, &r.moving);
	if (!f.code && cli->json)
		list_json(cli, &r);
	else if (!f.code)
		list_screen(cli, &r);
	json_decref(r.living);
	json_decref(r.notes);
	arena_release(&r.arena);
	return f.code ? cli_fault(cli, &f) : 0;
}

/* --- bringing back ------------------------------------------------------------------- */

json_t *undo_run(struct cli *cli, const struct op *op, json_t *args, int *status)
{
	struct fault f = { 0 };
	json_t *answer = run_op(cli, op, args, &f);

	json_decref(args);
	*status = answer ? 0 : cli_fault(cli, &f);
	if (!answer || !cli->json)
		return answer;
	print_json(answer);
	json_decref(answer);
	return NULL;
}

/* --- the verb ------------------------------------------------------------------------- */

void undo_names(struct cli *cli, const char *begun,
		void (*put)(const char *begun, const char *word, const char *doc))
{
	struct trash_entry *entries;
	struct arena a = { 0 };
	struct fault f = { 0 };
	size_t n;

	if (cli_folder(cli, HOME_LOOK, &f) < 0 || undo_check_trash(cli, &f) < 0)
		return; /* nobody has asked for the reason */
	n = trash_list(cli->home.dir, &a, &entries);
	for (size_t i = 0; i < n; i++) {
		char ago[32];

		print_ago(entries[i].removed_at, clock_wall_ms(), ago);
		put(begun, entries[i].name, arena_printf(&a, "Removed %s.", ago));
	}
	arena_release(&a);
}

/* Refuses options that mean nothing for what is brought back. */
static int check_options(const char *name, const char *agent, const char *to,
			 struct fault *f)
{
	bool note = name && undo_is_note(name);

	if (name && !*name) {
		fault_set(f, FAULT_INVALID, "/name",
			  "must name a removed workspace or note");
		return fault_hint(f, "See them with: cadre undo.");
	}
	if (agent && (note || !name))
		fault_set(f, FAULT_INVALID, "",
			  "--agent is for a workspace that is brought back");
	else if (to && (!note || name[strlen(name) - 1] == '/'))
		fault_set(f, FAULT_INVALID, "",
			  "--to is for a single note that is brought back");
	return f->code ? fault_hint(f, "Leave it out, or see: cadre help undo.") : 0;
}

int undo_main(struct cli *cli, int argc, char **argv)
{
	const char *name = NULL, *agent = NULL, *to = NULL, *value;
	struct fault f = { 0 };
	bool yes = false;

	for (int i = 1; i < argc; i++)
		if ((value = cli_option(argc, argv, &i, "--agent")))
			agent = value;
		else if ((value = cli_option(argc, argv, &i, "--to")))
			to = value;
		else if (!strcmp(argv[i], "--yes") || !strcmp(argv[i], "-y"))
			yes = true;
		else if (argv[i][0] == '-' || name)
			return cli_usage(cli, "`undo` does not know %.60s", argv[i]);
		else
			name = argv[i];
	if (check_options(name, agent, to, &f) < 0 || cli_folder(cli, HOME_LOOK, &f) < 0)
		return cli_fault(cli, &f);
	if (name && undo_is_note(name))
		return undo_note(cli, name, to);
	if (undo_check_trash(cli, &f) < 0)
		return cli_fault(cli, &f);
	return name ? undo_workspace(cli, name, agent, yes) : list(cli);
}
