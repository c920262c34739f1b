/*
 * undo_workspace - makes a workspace of what a removed one held.
 *
 * The new workspace may be in any team; the removed one stays in the trash until its time is over.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "ops.gen.h"
#include "tools/cadre/undo/undo_inside.h"

/* --- what there is ------------------------------------------------------------------ */

json_t *undo_living(struct cli *cli)
{
	struct fault f = { 0 };
	json_t *teams = run_rows(cli, op_team_list, "teams", NULL, NULL, &f), *team, *row,
	       *names = json_object();
	size_t i, j;

	json_array_foreach(teams, i, team) {
		json_t *rows = run_rows(cli, op_workspace_list, "workspaces", "team",
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

/* Whether a workspace could not be made: a directory is there only when it is whole, and the
 * folder of a VM's console when its disk is. */
static bool is_unmade(const json_t *workspace)
{
	const char *state = json_string_value(json_object_get(workspace, "state")),
		   *path = json_string_value(json_object_get(workspace, "path"));

	return state && !strcmp(state, "failed") && (!path || access(path, F_OK) != 0);
}

const json_t *undo_made_of(const json_t *names, const struct trash_entry *entry)
{
	const char *name, *source;
	json_t *row;

	json_object_foreach((json_t *)names, name, row) {
		source = json_string_value(json_object_get(row, "source"));
		if (source && !strcmp(source, entry->path) && !is_unmade(row))
			return row;
	}
	return NULL;
}

bool undo_stay(struct cli *cli)
{
	return access(arena_printf(&cli->arena, "%s/replaced", cli->home.dir), F_OK) == 0;
}

size_t undo_moving(const struct cli *cli, const json_t *living, struct arena *a,
		   const char ***names)
{
	DIR *dir = opendir(arena_printf(a, "%s/workspaces", cli->home.dir));
	struct dirent *e;
	size_t n = 0, len;

	*names = NULL;
	while (living && dir && (e = readdir(dir))) {
		len = trash_called(e->d_name);
		/* Another workspace may have the name of one that is on its way. */
		if (len && (e->d_name[len] || !json_object_get(living, e->d_name)))
			*(const char **)arena_push(a, names, &n, sizeof(**names)) =
				arena_strndup(a, e->d_name, len);
	}
	if (dir)
		closedir(dir);
	return n;
}

/* --- bringing back -------------------------------------------------------------------- */

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
	json_t *names = undo_living(cli);
	const json_t *made = undo_made_of(names, entry);

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
	arena_release(&a);
}

/* Removes the row of a workspace that could not be made. */
static void forget_unmade(struct cli *cli, const json_t *made)
{
	json_t *args = json_pack("{s:O}", "workspace", json_object_get(made, "id"));
	struct fault none = { 0 };

	json_decref(run_op(cli, op_workspace_destroy, args, &none));
	json_decref(args);
}

/* Waits until a workspace has what it was made of, and notes in `made` how it stands then:
 * false where it never will, with the fault filled, or where a signal ends the waiting. */
static bool is_back(struct cli *cli, const struct trash_entry *entry, json_t *made,
		    struct fault *f)
{
	const struct op *until = op_workspace_create->until;
	json_t *args = json_pack("{s:O}", "workspace", json_object_get(made, "id"));
	json_t *end = wait_for(cli, until, args, f);
	bool ready = end && wait_status(until, end) == 0;

	if (end)
		json_object_set(made, "state", json_object_get(end, "state"));
	if (end && !ready) {
		fault_set(f, FAULT_IO, "",
			  "%.80s could not be brought back%s; it is still in the trash",
			  entry->name, is_unmade(made) ? "" : " whole");
		fault_hint(f, "See why: cadre logs.");
		if (is_unmade(made))
			forget_unmade(cli, made);
	}
	json_decref(end);
	json_decref(args);
	return ready;
}

static json_t *make_of(struct cli *cli, const struct trash_entry *entry,
		       const char *agent, struct fault *f)
{
	json_t *args = json_pack("{s:s, s:s*, s:s*}", "source", entry->path, "agent",
				 agent, "team", cli->team),
	       *answer;

	if (entry->kind == TRASH_VM)
		add_facts(args, entry->path);
	answer = run_op(cli, op_workspace_create, args, f);
	json_decref(args);
	return answer;
}

/* Locks the trash, so that of several who bring an entry back at once the others see that the
 * first one did: a descriptor, or -1 with the fault filled. */
static int lock_trash(struct cli *cli, struct fault *f)
{
	enum { MOST_MS = 10000, PAUSE_MS = 20 };
	int64_t until = clock_steady_ms() + MOST_MS;
	int fd = open(arena_printf(&cli->arena, "%s/trash", cli->home.dir),
		      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK || clock_steady_ms() > until) {
			close(fd);
			fd = -1;
			break;
		}
		poll(NULL, 0, PAUSE_MS);
	}
	if (fd < 0 && errno == EWOULDBLOCK)
		fault_set(f, FAULT_UNAVAILABLE, "",
			  "another `cadre undo` has been at the trash for ten seconds");
	else if (fd < 0)
		fault_set(f, FAULT_IO, "", "cannot lock the trash: %m");
	return fd;
}

/* The answer of a workspace that is to be made of the entry, unless one was made before. */
static json_t *make_once(struct cli *cli, const struct trash_entry *entry,
			 const char *agent, bool again, struct fault *f)
{
	int lock = lock_trash(cli, f);
	json_t *answer = NULL;

	if (lock >= 0 && (again || check_again(cli, entry, f) == 0))
		answer = make_of(cli, entry, agent, f);
	if (lock >= 0)
		close(lock);
	return answer;
}

/* Holds the entry while it is brought back: a descriptor, or -1 with the fault filled. */
static int undo_workspace_hold(const struct cli *cli, const struct trash_entry *entry,
			       struct fault *f)
{
	int fd = trash_hold(cli->home.dir, entry->path);

	if (fd < 0 && (errno == ENOENT || errno == EWOULDBLOCK))
		undo_not_found(entry->name, f);
	else if (fd < 0)
		fault_set(f, FAULT_IO, "", "cannot open %.200s: %m", entry->path);
	return fd;
}

static int undo_workspace_bring_back(struct cli *cli, const struct trash_entry *entry,
				     const char *agent, bool again)
{
	struct fault f = { 0 };
	int held = undo_workspace_hold(cli, entry, &f);
	json_t *answer = NULL, *made;

	if (held >= 0)
		answer = make_once(cli, entry, agent, again, &f);
	made = json_object_get(answer, "workspace");
	if (made && is_back(cli, entry, made, &f)) {
		if (cli->json)
			print_json(answer);
		else
			say_back(cli, entry, made);
	}
	json_decref(answer);
	if (held >= 0)
		close(held);
	return f.code ? cli_fault(cli, &f) : wait_end(cli, 0);
}

int undo_workspace(struct cli *cli, const char *name, const char *agent, bool again)
{
	struct arena a = { 0 };
	struct undo_found found;
	struct fault f = { 0 };
	int status;

	if (undo_find(cli, name, &a, &found, &f) == 0) {
		cli->team = found.team;
		status = undo_workspace_bring_back(cli, found.entry, agent, again);
	} else {
		status = cli_fault(cli, &f);
	}
	arena_release(&a);
	return status;
}
