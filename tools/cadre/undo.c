/*
 * undo - brings back what a removed workspace held.
 *
 * The folders are in the state's trash (core/machine/trash.h).  A workspace that is made of
 * one is a new one, in any team; the entry stays until its time is over.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/machine/trash.h"
#include "ops.gen.h"
#include "tools/cadre/cli.h"
#include "tools/cadre/screen/screen.h"

/* The entry of that name, or of the one name that begins so; the newest of one name. */
static const struct trash_entry *find(const struct trash_entry *entries, size_t n,
				      const char *name, bool *several)
{
	const struct trash_entry *found = NULL;
	size_t len = strlen(name);

	*several = false;
	for (size_t i = 0; i < n; i++)
		if (!strcmp(entries[i].name, name))
			return &entries[i];
	for (size_t i = 0; i < n; i++) {
		if (strncmp(entries[i].name, name, len))
			continue;
		*several |= found && strcmp(found->name, entries[i].name);
		found = found ? found : &entries[i];
	}
	return found;
}

static int64_t until_ms(const struct cli *cli, const struct trash_entry *entry)
{
	return entry->removed_at +
	       cli->home.settings.config.workspace_keep_days * 24 * 3600 * 1000;
}

static void until_of(const struct cli *cli, const struct trash_entry *entry, char out[32])
{
	time_t at = (time_t)(until_ms(cli, entry) / 1000);
	struct tm tm;

	strftime(out, 32, "%Y-%m-%d", localtime_r(&at, &tm));
}

/* The trash is of all teams, so an agent sees no list of it. */
static int check_lister(struct cli *cli, struct fault *f)
{
	if (cli_who(cli, f) < 0 || !cli->home.identity.agent)
		return f->code;
	fault_set(f, FAULT_DENIED, "", "the trash holds what all teams removed");
	return fault_hint(f, "Name the workspace: cadre undo NAME. The operator lists "
			     "them.");
}

/* The names of all workspaces that live. */
static json_t *living(struct cli *cli)
{
	struct fault f = { 0 };
	json_t *teams = run_rows(cli, op_team_list, "teams", NULL, &f), *team, *row,
	       *names = json_object();
	size_t i, j;

	json_array_foreach(teams, i, team) {
		json_t *rows = run_rows(cli, op_workspace_list, "workspaces",
					json_object_get(team, "name"), &f);

		json_array_foreach(rows, j, row)
			json_object_set(names,
					json_string_value(json_object_get(row, "name")),
					row);
		json_decref(rows);
	}
	json_decref(teams);
	if (f.code)
		json_decref(names);
	return f.code ? NULL : names;
}

/* How many folders of workspaces are still to be moved into the trash, or 0 where nobody
 * knows; `names` are those that live. */
static size_t count_moving(const struct cli *cli, const json_t *names)
{
	struct arena a = { 0 };
	DIR *dir = opendir(arena_printf(&a, "%s/workspaces", cli->home.dir));
	struct dirent *e;
	size_t n = 0;

	while (names && dir && (e = readdir(dir)))
		n += !strchr(e->d_name, '.') && !json_object_get(names, e->d_name);
	if (dir)
		closedir(dir);
	arena_release(&a);
	return n;
}

static void tell_moving(struct cli *cli, size_t n)
{
	if (n)
		cli_prose(cli,
			  arena_printf(&cli->arena,
				       "%zu more removed workspace%s still to be moved "
				       "into the trash: a running host does that",
				       n, n == 1 ? " is" : "s are"),
			  0);
}

/* The living workspace that was made of an entry, or NULL. */
static const json_t *made_of(const json_t *names, const struct trash_entry *entry)
{
	const char *name, *source;
	json_t *row;

	json_object_foreach((json_t *)names, name, row) {
		source = json_string_value(json_object_get(row, "source"));
		if (source && !strcmp(source, entry->path))
			return row;
	}
	return NULL;
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

static void add_row(const struct cli *cli, struct table *t,
		    const struct trash_entry *entry, const json_t *made)
{
	const json_t *as = json_object_get(made, "name");
	char iso[25], until[32];

	time_format(entry->removed_at, iso);
	until_of(cli, entry, until);
	table_cell(t, entry->name);
	table_cell(t, screen_time(cli, &t->arena, iso));
	table_cell(t, until);
	table_cell(t, arena_printf(&t->arena, "%" PRId64 " KiB",
				   (entry->bytes + 1023) >> 10));
	table_cell(t, entry->kind == TRASH_VM ? "VM" : "folder");
	table_cell(t, as ? json_string_value(as) : "-");
}

static void list_rows(const struct cli *cli, const struct trash_entry *entries, size_t n,
		      const json_t *names)
{
	static const char *const heads[] = { "NAME", "REMOVED", "KEPT UNTIL",
					     "SIZE", "WAS",     "BROUGHT BACK AS" };
	struct table t = { .n_columns = sizeof(heads) / sizeof(*heads) };

	/* None of them is cut: they are names, and what a person decides by. */
	t.whole = (1 << t.n_columns) - 1;
	for (size_t i = 0; i < t.n_columns; i++)
		table_cell(&t, heads[i]);
	for (size_t i = 0; i < n; i++)
		add_row(cli, &t, &entries[i], made_of(names, &entries[i]));
	table_print(cli, &t, true, 0);
	cli_tell("next: cadre undo NAME [--agent AGENT] makes a workspace of one");
}

static void list(struct cli *cli, const struct trash_entry *entries, size_t n)
{
	json_t *all = json_array(), *names = living(cli);
	size_t moving = count_moving(cli, names);

	for (size_t i = 0; cli->json && i < n; i++)
		json_array_append_new(all, entry_json(cli, &entries[i],
						      made_of(names, &entries[i])));
	if (cli->json) {
		all = json_pack("{s:o, s:I}", "removed", all, "moving",
				(json_int_t)moving);
		print_json(all);
	} else if (n) {
		list_rows(cli, entries, n, names);
	} else if (!moving) {
		cli_prose(
			cli,
			arena_printf(
				&cli->arena,
				"no removed workspaces: what one held is kept here for "
				"%lld days",
				(long long)cli->home.settings.config.workspace_keep_days),
			0);
	}
	if (!cli->json)
		tell_moving(cli, moving);
	json_decref(names);
	json_decref(all);
}

/* Makes it a VM like the one that had the disk. */
static void add_facts(json_t *args, const char *path)
{
	char file[4200];
	json_t *facts;

	snprintf(file, sizeof(file), "%s/vm.json", path);
	facts = json_load_file(file, 0, NULL);
	json_object_update_missing(args, facts);
	json_object_set_new(args, "backend", json_string("qemu"));
	json_decref(facts);
}

/* Refuses to make a second workspace of an entry while the first one lives, unless that is
 * what is meant. */
static int check_again(struct cli *cli, const struct trash_entry *entry, struct fault *f)
{
	json_t *names = living(cli);
	const json_t *made = made_of(names, entry);

	if (made) {
		fault_set(f, FAULT_CONFLICT, "",
			  "%.60s was brought back already: it is %.80s of team %.64s",
			  entry->name, json_string_value(json_object_get(made, "name")),
			  json_string_value(json_object_get(made, "team")));
		fault_hint(f, "For another copy of it: cadre undo %.60s --yes",
			   entry->name);
	}
	json_decref(names);
	return f->code;
}

/* Says in a line what came back, and where. */
static void say_back(const struct cli *cli, const struct trash_entry *entry,
		     const json_t *made)
{
	const char *agent = json_string_value(json_object_get(made, "agent")),
		   *name = json_string_value(json_object_get(made, "name")),
		   *path = json_string_value(json_object_get(made, "path"));
	struct arena a = { 0 };
	const char *line = arena_printf(&a, "brought back %s as %s of team %s%s%s%s%s",
					entry->name, name,
					json_string_value(json_object_get(made, "team")),
					agent ? ", for " : "", agent ? agent : "",
					path ? ", in " : "", path ? path : "");

	cli_prose(cli, cli_plain(&a, line, false), 0);
	cli_tell("next: cadre wait workspace %s", name);
	arena_release(&a);
}

static int bring_back(struct cli *cli, const struct trash_entry *entry, const char *agent)
{
	json_t *args = json_pack("{s:s, s:s*, s:s*}", "source", entry->path, "agent",
				 agent, "team", cli->team);
	struct fault f = { 0 };
	json_t *answer;

	if (entry->kind == TRASH_VM)
		add_facts(args, entry->path);
	answer = run_op(cli, op_workspace_create, args, &f);
	json_decref(args);
	if (!answer)
		return cli_fault(cli, &f);
	if (cli->json)
		print_json(answer);
	else
		say_back(cli, entry, json_object_get(answer, "workspace"));
	json_decref(answer);
	return 0;
}

void undo_names(struct cli *cli, const char *begun,
		void (*put)(const char *begun, const char *word, const char *doc))
{
	struct trash_entry *entries;
	struct arena a = { 0 };
	struct fault f = { 0 };
	size_t n;

	if (cli_folder(cli, HOME_LOOK, &f) < 0 || check_lister(cli, &f) < 0)
		return; /* nobody has asked for the reason */
	n = trash_list(cli->home.dir, &a, &entries);
	for (size_t i = 0; i < n; i++) {
		char ago[32];

		print_ago(entries[i].removed_at, clock_wall_ms(), ago);
		put(begun, entries[i].name, arena_printf(&a, "Removed %s.", ago));
	}
	arena_release(&a);
}

int undo_main(struct cli *cli, int argc, char **argv)
{
	const char *name = NULL, *agent = NULL, *value;
	struct trash_entry *entries;
	const struct trash_entry *entry;
	struct arena a = { 0 };
	struct fault f = { 0 };
	bool several, yes = false;
	size_t n;
	int status = 0;

	for (int i = 1; i < argc; i++)
		if ((value = cli_option(argc, argv, &i, "--agent")))
			agent = value;
		else if (!strcmp(argv[i], "--yes") || !strcmp(argv[i], "-y"))
			yes = true;
		else if (argv[i][0] == '-' || name)
			return cli_usage(cli, "`undo` does not know %.60s", argv[i]);
		else
			name = argv[i];
	if (name && !*name) {
		fault_set(&f, FAULT_INVALID, "/name", "must name a removed workspace");
		fault_hint(&f, "See them with: cadre undo.");
		return cli_fault(cli, &f);
	}
	if (cli_folder(cli, HOME_LOOK, &f) < 0 || (!name && check_lister(cli, &f) < 0))
		return cli_fault(cli, &f);
	n = trash_list(cli->home.dir, &a, &entries);
	entry = name ? find(entries, n, name, &several) : NULL;
	if (!name) {
		list(cli, entries, n);
	} else if (!entry || several) {
		fault_set(&f, entry ? FAULT_INVALID : FAULT_NOT_FOUND, "/name",
			  entry ? "several removed workspaces begin with %.60s"
				: "the trash holds no workspace %.60s",
			  name);
		fault_hint(&f, "See them with: cadre undo.");
		status = cli_fault(cli, &f);
	} else {
		status = !yes && check_again(cli, entry, &f) < 0
				 ? cli_fault(cli, &f)
				 : bring_back(cli, entry, agent);
	}
	arena_release(&a);
	return status;
}
