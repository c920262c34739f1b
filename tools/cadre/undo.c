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
 * knows. */
static size_t count_moving(struct cli *cli)
{
	struct arena a = { 0 };
	DIR *dir = opendir(arena_printf(&a, "%s/workspaces", cli->home.dir));
	json_t *names = dir ? living(cli) : NULL;
	struct dirent *e;
	size_t n = 0;

	while (names && (e = readdir(dir)))
		n += !strchr(e->d_name, '.') && !json_object_get(names, e->d_name);
	json_decref(names);
	if (dir)
		closedir(dir);
	arena_release(&a);
	return n;
}

static void tell_moving(size_t n)
{
	if (n)
		printf("%zu more removed workspace%s still to be moved into the trash: a "
		       "running host does that\n",
		       n, n == 1 ? " is" : "s are");
}

static void list(struct cli *cli, const struct trash_entry *entries, size_t n)
{
	int64_t now = clock_wall_ms();
	size_t moving = count_moving(cli);
	json_t *all = json_array();
	struct arena a = { 0 };

	for (size_t i = 0; i < n; i++) {
		char ago[32], until[32];

		if (cli->json) {
			json_array_append_new(
				all, json_pack("{s:s, s:I, s:I, s:I, s:b, s:s}", "name",
					       entries[i].name, "removed_at",
					       (json_int_t)entries[i].removed_at, "until",
					       (json_int_t)until_ms(cli, &entries[i]),
					       "bytes", (json_int_t)entries[i].bytes,
					       "vm", entries[i].kind == TRASH_VM, "path",
					       entries[i].path));
			continue;
		}
		print_ago(entries[i].removed_at, now, ago);
		until_of(cli, &entries[i], until);
		printf("%-32s  %6" PRId64 " KiB  %s  until %s%s\n",
		       cli_plain(&a, entries[i].name, false), entries[i].bytes >> 10, ago,
		       until, entries[i].kind == TRASH_VM ? "  a VM" : "");
	}
	if (cli->json) {
		all = json_pack("{s:o, s:I}", "removed", all, "moving",
				(json_int_t)moving);
		print_json(all);
	} else if (!n && !moving) {
		printf("no removed workspaces\n");
	} else {
		tell_moving(moving);
	}
	json_decref(all);
	arena_release(&a);
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
		print_answer(cli, op_workspace_create, answer);
	json_decref(answer);
	return 0;
}

int undo_main(struct cli *cli, int argc, char **argv)
{
	const char *name = NULL, *agent = NULL, *value;
	struct trash_entry *entries;
	const struct trash_entry *entry;
	struct arena a = { 0 };
	struct fault f = { 0 };
	bool several;
	size_t n;
	int status = 0;

	for (int i = 1; i < argc; i++)
		if ((value = cli_option(argc, argv, &i, "--agent")))
			agent = value;
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
		status = bring_back(cli, entry, agent);
	}
	arena_release(&a);
	return status;
}
