/*
 * undo - lists removed workspaces and notes, and brings a removed workspace or note back.
 *
 * The folders and disks of removed workspaces are in the state's trash (core/machine/trash.h).
 * Deleted notes are in the vault's trash (core/vault/vault_trash.h). A removed workspace comes
 * back as a new workspace, in any team, with a copy of the former folder or disk. The former
 * folder or disk stays in the trash until its days in the trash have passed, or the trash
 * becomes too large.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/machine/trash.h"
#include "ops.gen.h"
#include "tools/cadre/cli.h"
#include "tools/cadre/screen/screen.h"

#define UNDO_STAYS                                                                      \
	"Folders that only the state before a restore knows stay where they are. When " \
	"the state is in order, remove replaced/ in the state's folder, then cadre "    \
	"restart."

/* --- the name given --------------------------------------------------------------------- */

/* The entry of the trash that a person asks for. */
struct undo_wanted {
	const char *name;
	const char *begun; /* beginning of the entry's name */
	bool agent; /* the name is TEAM/AGENT, so digits follow `begun` */
};

enum { UNDO_DIGITS = 4 };

/* Whether a text consists of the digits at the end of a workspace's name. The end of a
 * snapshot's name may follow the digits. */
static bool undo_is_digits(const char *text)
{
	size_t n = strspn(text, "0123456789abcdef");

	return n == UNDO_DIGITS &&
	       (!text[n] || !strncmp(text + n, TRASH_SNAPSHOT, strlen(TRASH_SNAPSHOT)));
}

static bool undo_is_wanted(const struct undo_wanted *w, const char *name)
{
	size_t n = strlen(w->begun);

	return !strncmp(name, w->begun, n) && (!w->agent || undo_is_digits(name + n));
}

/* An entry's name begins with the owner's part, and the digits of the workspace follow. A
 * snapshot's name has a further end behind the digits. Returns the length of the owner's part. */
static size_t undo_owner_len(const char *name)
{
	size_t n = strlen(name), end = strlen(TRASH_SNAPSHOT) + TRASH_ID_SHOWN;

	if (n > end && !strncmp(name + n - end, TRASH_SNAPSHOT, strlen(TRASH_SNAPSHOT)) &&
	    !strchr(name + n - TRASH_ID_SHOWN, '-'))
		n -= end;
	return n > UNDO_DIGITS ? n - UNDO_DIGITS : 0;
}

/* --- workspaces not yet in the trash ---------------------------------------------------- */

/* Reads the existing workspaces into an object with their names as keys. NULL: the workspaces
 * cannot be read. */
static json_t *undo_living(struct cli *cli)
{
	struct fault f = { 0 };
	json_t *teams = run_rows(cli, op_team_list, "teams", NULL, NULL, &f), *team, *row,
	       *names = json_object();
	size_t i, j;

	json_array_foreach(teams, i, team) {
		json_t *rows = run_rows(cli, op_workspace_list, "workspaces", "team",
					json_object_get(team, "name"), &f);

		json_array_foreach(rows, j, row)
			json_object_set(names, json_find_text(row, "name"), row);
		json_decref(rows);
	}
	json_decref(teams);
	if (f.code)
		json_decref(names);
	return f.code ? NULL : names;
}

/* Finds the names of removed workspaces whose folders a host has not yet moved into the trash.
 * Copies the names to the arena `a`. Returns the number of names. */
static size_t undo_moving(struct cli *cli, struct arena *a, const char ***names)
{
	DIR *dir = opendir(arena_printf(a, "%s/workspaces", cli->home.dir));
	json_t *living = undo_living(cli);
	struct dirent *e;
	size_t n = 0, len;

	*names = NULL;
	while (living && dir && (e = readdir(dir))) {
		len = trash_called(e->d_name);
		/* A new workspace may have the name of a removed workspace that is not yet in
		 * the trash. */
		if (len && (e->d_name[len] || !json_object_get(living, e->d_name)))
			arena_add(a, *names, n, arena_strndup(a, e->d_name, len));
	}
	if (dir)
		closedir(dir);
	json_decref(living);
	return n;
}

/* Whether the folder replaced/ exists. While this folder exists, hosts do not move the folders
 * of workspaces that only the former state lists. */
static bool undo_stays(struct cli *cli)
{
	return access(arena_printf(&cli->arena, "%s/replaced", cli->home.dir), F_OK) == 0;
}

/* Waits until the host has moved the wanted workspace into the trash. Without this wait, undo
 * could miss the workspace that was removed last, and choose an older workspace. Returns 0, or
 * a fault if the workspace is not moved in time or no host runs. */
static int undo_wait_for_trash(struct cli *cli, const struct undo_wanted *w,
			       struct fault *f)
{
	enum { MOST_MS = 10000, PAUSE_MS = 50 };
	int64_t until = clock_steady_ms() + MOST_MS;

	for (;;) {
		const char **names;
		size_t n = undo_moving(cli, &cli->arena, &names), i = 0;

		while (i < n && !undo_is_wanted(w, names[i]))
			i++;
		if (i == n)
			return 0;
		if (!home_holder(&cli->home) || clock_steady_ms() > until) {
			fault_set(f, FAULT_UNAVAILABLE, "/name",
				  "%.80s is not in the trash yet", names[i]);
			return fault_hint(f, "A host moves it there%s%s",
					  home_holder(&cli->home) ? "." : ": cadre up.",
					  undo_stays(cli) ? " " UNDO_STAYS : "");
		}
		poll(NULL, 0, PAUSE_MS);
	}
}

/* --- the list --------------------------------------------------------------------------- */

static int64_t undo_until(const struct cli *cli, const struct trash_entry *entry)
{
	return entry->removed_at + settings_keep_ms(&cli->home.settings);
}

static void undo_add_row(const struct cli *cli, struct table *t,
			 const struct trash_entry *entry, const char *was)
{
	const int64_t kept = undo_until(cli, entry);
	time_t at = (time_t)(kept / 1000);
	char iso[25], until[32];
	struct tm tm;

	time_format(entry->removed_at, iso);
	table_cell(t, entry->name);
	table_cell(t, screen_time(cli, &t->arena, iso));
	if (cli->people) {
		strftime(until, sizeof(until), "%Y-%m-%d", localtime_r(&at, &tm));
		table_cell(t, until);
		table_cell(t, arena_printf(&t->arena, "%" PRId64 " KiB",
					   (entry->bytes + 1023) >> 10));
	} else {
		time_format(kept, iso);
		table_cell(t, screen_time(cli, &t->arena, iso));
		table_cell(t, arena_printf(&t->arena, "%" PRId64, entry->bytes));
	}
	table_cell(t, was);
}

static int undo_list_rows(const struct cli *cli, const struct trash_entry *entries,
			  size_t n, const json_t *notes, struct fault *f)
{
	static const char *const names[] = { "name", "removed", "kept_until", "size",
					     "was" };
	struct table t = { 0 };
	json_t *note;
	size_t i;

	if (table_begin(cli, &t, names, sizeof(names) / sizeof(*names), f) < 0)
		return f->code;
	/* No column is cut, because a person needs the whole names and the values of all other
	 * columns. */
	t.whole = (1 << t.n_columns) - 1;
	for (i = 0; i < n; i++)
		undo_add_row(cli, &t, &entries[i],
			     entries[i].kind == TRASH_VM ? "VM" : "folder");
	json_array_foreach(notes, i, note) {
		const char *at = json_find_text(note, "removed_at");

		undo_add_row(cli, &t,
			     &(struct trash_entry){ .name = json_find_text(note, "path"),
						    .removed_at = at ? time_parse(at)
								     : -1,
						    .bytes = json_int_at(note, "size") },
			     "note");
	}
	table_print(cli, &t, true, 0);
	if (n || json_array_size(notes))
		cli_tell("next: cadre undo NAME [--team TEAM] [--agent AGENT] brings a "
			 "workspace back as a new one; cadre undo PATH puts a note back");
	return 0;
}

static void undo_list_json(const struct cli *cli, const struct trash_entry *entries,
			   size_t n, json_t *notes, size_t n_moving)
{
	json_t *all = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(
			all,
			json_pack("{s:s, s:I, s:I, s:I, s:b, s:s}", "name",
				  entries[i].name, "removed_at",
				  (json_int_t)entries[i].removed_at, "until",
				  (json_int_t)undo_until(cli, &entries[i]), "bytes",
				  (json_int_t)entries[i].bytes, "vm",
				  entries[i].kind == TRASH_VM, "path", entries[i].path));
	print_json_new(json_pack("{s:o, s:I, s:O}", "removed", all, "moving",
				 (json_int_t)n_moving, "notes", notes));
}

/* Reports removed workspaces that are not in the trash yet, or prints that no workspace and no
 * note was removed. */
static void undo_list_rest(struct cli *cli, size_t n_moving)
{
	if (n_moving)
		print_beside(
			cli,
			arena_printf(&cli->arena,
				     "%zu more removed workspace%s not in the trash yet: "
				     "a host moves removed workspaces there%s%s",
				     n_moving, n_moving == 1 ? " is" : "s are",
				     home_holder(&cli->home) ? "." : ": cadre up.",
				     undo_stays(cli) ? " " UNDO_STAYS : ""));
	else
		print_beside(cli,
			     arena_printf(&cli->arena,
					  "no removed workspaces or notes: removed files "
					  "are kept here for %" PRId64 " days",
					  cli->home.settings.config.workspace_keep_days));
}

static int undo_list(struct cli *cli)
{
	struct fault f = { 0 };
	struct trash_entry *entries;
	const char **moving;
	size_t n = trash_list(cli->home.dir, &cli->arena, &entries),
	       n_moving = undo_moving(cli, &cli->arena, &moving);
	json_t *notes = run_rows(cli, op_vault_removed, "notes", NULL, NULL, &f);

	if (f.code)
		return cli_fault(cli, &f);
	if (cli->json)
		undo_list_json(cli, entries, n, notes, n_moving);
	else if ((n || json_array_size(notes) || !cli->people || cli->columns) &&
		 undo_list_rows(cli, entries, n, notes, &f) < 0)
		return cli_fault(cli, &f);
	if (!cli->json && (n_moving || (!n && !json_array_size(notes))))
		undo_list_rest(cli, n_moving);
	json_decref(notes);
	return 0;
}

/* --- a workspace ------------------------------------------------------------------------ */

/* Finds the entry with the given name, or else an entry whose name begins with the given name.
 * NULL: there is no such entry. If all matches are workspaces and snapshots of one agent, the
 * newest match is returned. If the matches belong to several owners, `*several` becomes true. */
static const struct trash_entry *undo_find_entry(const struct trash_entry *entries,
						 size_t n, const struct undo_wanted *w,
						 bool *several)
{
	const struct trash_entry *found = NULL;

	*several = false;
	for (size_t i = 0; i < n; i++) {
		const char *name = entries[i].name;
		size_t len = undo_owner_len(name);

		if (!strcmp(name, w->begun)) {
			*several = false;
			return &entries[i];
		}
		if (!undo_is_wanted(w, name))
			continue;
		*several |= found && (undo_owner_len(found->name) != len ||
				      strncmp(name, found->name, len) != 0);
		found = found ? found : &entries[i];
	}
	return found;
}

/* Refuses TEAM/AGENT if the entry may belong to another team. The entry's name may begin with
 * the names of two teams, because the name of a team may contain a `-`. */
static int undo_check_team(struct cli *cli, const struct trash_entry *found,
			   const struct undo_wanted *w, struct fault *f)
{
	json_t *teams = run_rows(cli, op_team_list, "teams", NULL, NULL, f), *row;
	size_t own = (size_t)(strchr(w->name, '/') - w->name), i;

	json_array_foreach(teams, i, row) {
		const char *team = json_find_text(row, "name");
		size_t n = strlen(team);

		if (f->code || n == own || strncmp(found->name, team, n) != 0 ||
		    found->name[n] != '-')
			continue;
		fault_set(f, FAULT_INVALID, "/name",
			  "%.80s may belong to another team: %.64s", found->name, team);
		fault_hint(f, "If that is the right team: cadre undo %.80s --team TEAM.",
			   found->name);
	}
	json_decref(teams);
	return f->code;
}

/* Finds an entry by its name, by the beginning of its name, or by TEAM/AGENT. For TEAM/AGENT,
 * TEAM also becomes the team of the new workspace, unless --team names a team. Returns NULL
 * with the fault filled if no single entry fits. */
static const struct trash_entry *undo_find(struct cli *cli, const char *name,
					   struct fault *f)
{
	const char *slash = strchr(name, '/');
	struct undo_wanted w = { name, name, slash };
	const struct trash_entry *found;
	struct trash_entry *entries;
	bool several;
	size_t n;

	if (slash)
		w.begun = arena_printf(&cli->arena, "%.*s-%s-", (int)(slash - name), name,
				       slash + 1);
	if (undo_wait_for_trash(cli, &w, f) < 0)
		return NULL;
	n = trash_list(cli->home.dir, &cli->arena, &entries);
	found = undo_find_entry(entries, n, &w, &several);
	if (found && !several && slash && undo_check_team(cli, found, &w, f) < 0)
		return NULL;
	if (slash && !cli->team)
		cli->team = arena_strndup(&cli->arena, name, (size_t)(slash - name));
	if (found && !several)
		return found;
	if (found)
		fault_set(f, FAULT_INVALID, "/name",
			  "several removed workspaces have names that begin with %.60s",
			  name);
	else
		fault_set(f, FAULT_NOT_FOUND, "/name",
			  "the trash holds no workspace %.60s", name);
	fault_hint(f,
		   name[strspn(name, "#0123456789")]
			   ? "See them with: cadre undo."
			   : "See them with: cadre undo. For a task: cadre task reopen.");
	return NULL;
}

/* Calls the operation that makes a new workspace from the entry. If the entry is a VM's disk,
 * the new VM gets the properties of the former VM. */
static json_t *undo_make(struct cli *cli, const struct trash_entry *entry,
			 const char *agent, struct fault *f)
{
	json_t *args = json_pack("{s:s, s:s*, s:s*}", "source", entry->path, "agent",
				 agent, "team", cli->team),
	       *facts;

	if (entry->kind == TRASH_VM) {
		facts = json_load_file(
			arena_printf(&cli->arena, "%s/vm.json", entry->path), 0, NULL);
		json_object_update_missing(args, facts);
		json_object_set_new(args, "backend", json_string("qemu"));
		json_decref(facts);
	}
	return run_args(cli, op_workspace_create, args, f);
}

/* Waits until the workspace is ready, and stores the workspace's state in `made`. Returns false
 * with the fault filled if the workspace will never be ready, or the wait failed. Returns false
 * without a fault if a signal ended the wait. */
static bool undo_is_back(struct cli *cli, const struct trash_entry *entry, json_t *made,
			 struct fault *f)
{
	const struct op *until = op_workspace_create->until;
	json_t *args = json_pack("{s:O}", "workspace", json_object_get(made, "id"));
	json_t *end = wait_for(cli, until, args, f);
	bool ready = end && wait_status(until, end) == 0;
	json_t *row = json_pack("{s:O}", "workspace", json_object_get(made, "id"));
	struct fault kept = { 0 };

	if (end)
		json_object_set(made, "state", json_object_get(end, "state"));
	if (end && !ready) {
		/* Removes the row of the new workspace. If the workspace contains data, the row
		 * stays, since this call does not confirm the removal. */
		json_decref(run_op(cli, op_workspace_destroy, row, &kept));
		fault_set(f, FAULT_IO, "",
			  "%.80s could not be brought back; it is still in the trash",
			  entry->name);
		fault_hint(f, "See why: cadre logs.");
	}
	json_decref(end);
	json_decref(row);
	json_decref(args);
	return ready;
}

/* Prints a sentence with the name, the team, the agent and the path of the workspace that was
 * brought back. */
static void undo_say(struct cli *cli, const struct trash_entry *entry, const json_t *made)
{
	const char *agent = json_find_text(made, "agent"),
		   *path = json_find_text(made, "path");
	const char *line =
		arena_printf(&cli->arena, "brought back %s as %s of team %s%s%s%s%s",
			     entry->name, json_find_text(made, "name"),
			     json_find_text(made, "team"), agent ? ", for " : "",
			     agent ? agent : "", path ? ", in " : "", path ? path : "");

	cli_prose(cli, cli_plain(&cli->arena, line, false), 0);
}

static int undo_workspace(struct cli *cli, const char *name, const char *agent)
{
	struct fault f = { 0 };
	const struct trash_entry *entry = undo_find(cli, name, &f);
	int held = entry ? trash_hold(cli->home.dir, entry->path) : -1;
	json_t *answer = NULL, *made;

	if (held >= 0)
		answer = undo_make(cli, entry, agent, &f);
	else if (entry && (errno == ENOENT || errno == EWOULDBLOCK))
		fault_set(&f, FAULT_NOT_FOUND, "/name", "the trash no longer holds %.80s",
			  entry->name);
	else if (entry)
		fault_set(&f, FAULT_IO, "/name", "cannot open %.200s: %m", entry->path);
	if (f.code == FAULT_NOT_FOUND && strchr(name, '/') && !strcmp(f.where, "/team"))
		fault_hint(&f, "Name the team for the new workspace: --team TEAM.");
	made = json_object_get(answer, "workspace");
	if (made && undo_is_back(cli, entry, made, &f)) {
		if (cli->json)
			print_json(answer);
		else
			undo_say(cli, entry, made);
	}
	json_decref(answer);
	if (held >= 0)
		close(held);
	return f.code ? cli_fault(cli, &f) : wait_end(cli, 0);
}

/* --- notes ------------------------------------------------------------------------------ */

/* Whether a name is the path of a note or of a folder of notes. A folder's path ends with a
 * slash. Names and addresses of workspaces have no dot. */
static bool undo_is_note(const char *name)
{
	const char *slash = strrchr(name, '/');

	return strchr(slash ? slash : name, '.') || (slash && !slash[1]);
}

static int undo_note(struct cli *cli, const char *path, const char *to)
{
	struct fault f = { 0 };
	json_t *answer = run_args(cli, op_vault_restore,
				  json_pack("{s:s, s:s*}", "path", path, "to", to), &f);

	if (answer && cli->json)
		print_json(answer);
	else if (answer)
		print_answer(cli, op_vault_restore, answer);
	json_decref(answer);
	return f.code ? cli_fault(cli, &f) : 0;
}

/* Brings back all removed notes below a folder. A note that was removed several times is
 * brought back once. */
static int undo_notes(struct cli *cli, const char *folder)
{
	struct fault f = { 0 };
	json_t *below = json_string(folder), *row, *value, *paths = json_object();
	json_t *rows = run_rows(cli, op_vault_removed, "notes", "path", below, &f);
	const char *path;
	int status = 0, rc;
	size_t i;

	json_array_foreach(rows, i, row)
		json_object_set_new(paths, json_find_text(row, "path"), json_true());
	if (!f.code && !json_object_size(paths)) {
		fault_set(&f, FAULT_NOT_FOUND, "/name",
			  "the trash holds no note below %.100s", folder);
		fault_hint(&f, "See them with: cadre undo.");
	}
	json_object_foreach(paths, path, value) {
		rc = f.code ? 0 : undo_note(cli, path, NULL);
		status = rc ? rc : status;
	}
	json_decref(rows);
	json_decref(below);
	json_decref(paths);
	return f.code ? cli_fault(cli, &f) : status;
}

/* --- the verb --------------------------------------------------------------------------- */

/* Checks that the caller may see the trash. The trash is common to all teams, so an agent may
 * neither list the trash nor bring a workspace back. */
static int undo_check_trash(struct cli *cli, struct fault *f)
{
	if (cli_who(cli, f) < 0 || !cli->home.identity.agent)
		return f->code;
	fault_set(f, FAULT_DENIED, "",
		  "only the operator may see the trash: it holds files of all teams");
	return fault_hint(f, "Ask the operator. Your team's removed notes: cadre vault "
			     "removed.");
}

void undo_names(struct cli *cli, const char *begun,
		void (*put)(const char *begun, const char *word, const char *doc))
{
	struct trash_entry *entries;
	struct fault f = { 0 };
	size_t n;

	if (cli_folder(cli, HOME_LOOK, &f) < 0 || undo_check_trash(cli, &f) < 0)
		return; /* completion reports no faults */
	n = trash_list(cli->home.dir, &cli->arena, &entries);
	for (size_t i = 0; i < n; i++) {
		char ago[32];

		print_ago(entries[i].removed_at, clock_wall_ms(), ago);
		put(begun, entries[i].name,
		    arena_printf(&cli->arena, "Removed %s.", ago));
	}
}

/* Refuses options that do not apply to the named thing. */
static int undo_check_options(const char *name, const char *agent, const char *to,
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
			  "--agent needs a workspace to bring back");
	else if (to && (!note || name[strlen(name) - 1] == '/'))
		fault_set(f, FAULT_INVALID, "", "--to needs a single note to bring back");
	return f->code ? fault_hint(f, "Leave the option out, or see: cadre help undo.")
		       : 0;
}

int undo_main(struct cli *cli, int argc, char **argv)
{
	const char *name = NULL, *agent = NULL, *to = NULL, *value;
	struct fault f = { 0 };

	for (int i = 1; i < argc; i++)
		if ((value = cli_option(argc, argv, &i, "--agent")))
			agent = value;
		else if ((value = cli_option(argc, argv, &i, "--to")))
			to = value;
		else if (argv[i][0] == '-' || name)
			return cli_usage(cli, "`undo` does not know %.60s", argv[i]);
		else
			name = argv[i];
	if (undo_check_options(name, agent, to, &f) < 0 ||
	    cli_folder(cli, HOME_LOOK, &f) < 0)
		return cli_fault(cli, &f);
	if (name && undo_is_note(name))
		return name[strlen(name) - 1] == '/' ? undo_notes(cli, name)
						     : undo_note(cli, name, to);
	if (undo_check_trash(cli, &f) < 0)
		return cli_fault(cli, &f);
	return name ? undo_workspace(cli, name, agent) : undo_list(cli);
}
