/*
 * undo_workspace - makes a workspace of what a removed one held.
 *
 * It is a new one, in any team; the entry stays in the trash until its time is over.
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "ops.gen.h"
#include "tools/cadre/undo/inside.h"

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

size_t undo_moving(const struct cli *cli, const json_t *living, struct arena *a,
		   const char ***names)
{
	DIR *dir = opendir(arena_printf(a, "%s/workspaces", cli->home.dir));
	struct dirent *e;
	size_t n = 0;

	*names = NULL;
	while (living && dir && (e = readdir(dir)))
		if (!strchr(e->d_name, '.') && !json_object_get(living, e->d_name))
			*(const char **)arena_push(a, names, &n, sizeof(**names)) =
				arena_strdup(a, e->d_name);
	if (dir)
		closedir(dir);
	return n;
}

/* --- finding ------------------------------------------------------------------------ */

/* The words that ask for a workspace: its name, the beginning of that, or its team and
 * agent, with which its name `begins`; NULL: no team is said. */
struct wanted {
	const char *name, *begins;
};

/* The names of workspaces are TEAM-AGENT-XXXX. */
static struct wanted wanted_of(struct cli *cli, const char *name, struct arena *a)
{
	const char *slash = strchr(name, '/');

	if (slash)
		return (struct wanted){ name,
					arena_printf(a, "%.*s-%s-", (int)(slash - name),
						     name, slash + 1) };
	return (struct wanted){ name, cli->team
					      ? arena_printf(a, "%s-%s-", cli->team, name)
					      : NULL };
}

/* 2: it is the very name, or of that agent; 1: it begins so; 0: it is another one. */
static int fits(const struct wanted *w, const char *name)
{
	enum { DIGITS = 4 };
	size_t n = w->begins ? strlen(w->begins) : 0;

	if (!strcmp(name, w->name) ||
	    (n && !strncmp(name, w->begins, n) && strlen(name + n) == DIGITS))
		return 2;
	return !strncmp(name, w->name, strlen(w->name));
}

/* Whether an entry's name is that of a snapshot: its workspace's name, and the end of its id.
 * Those of workspaces end with four digits, whatever their teams and agents are called. */
static bool is_snapshot(const char *name)
{
	static const char mark[] = "-snapshot-";
	enum { MARK = sizeof(mark) - 1, ID_SHOWN = 8 };
	size_t n = strlen(name);
	const char *end = n > MARK + ID_SHOWN ? name + n - ID_SHOWN : NULL;

	return end && !strchr(end, '-') && !strncmp(end - MARK, mark, MARK);
}

/* The entry of that name or agent, or of the one name that begins so; of several the
 * newest.  A workspace's snapshots, which were removed before it, do not make its own name
 * doubtful. */
static const struct trash_entry *find(const struct trash_entry *entries, size_t n,
				      const struct wanted *w, bool *several)
{
	const struct trash_entry *found = NULL;

	*several = false;
	for (size_t i = 0; i < n; i++)
		if (fits(w, entries[i].name) == 2)
			return &entries[i];
	for (size_t i = 0; i < n; i++) {
		if (!fits(w, entries[i].name) || (found && is_snapshot(entries[i].name)))
			continue;
		*several |= found && strcmp(found->name, entries[i].name);
		found = found ? found : &entries[i];
	}
	return found;
}

/* Waits while a host moves a workspace that is meant into the trash: what was removed last
 * is not to be passed over for something older.  0, or a fault where no host does it. */
static int wait_for_trash(struct cli *cli, const struct wanted *w, struct fault *f)
{
	enum { MOST_MS = 10000, PAUSE_MS = 50 };
	int64_t until = clock_steady_ms() + MOST_MS;

	for (;;) {
		struct arena a = { 0 };
		json_t *living = undo_living(cli);
		const char **names, *moving = NULL;
		size_t n = undo_moving(cli, living, &a, &names);

		for (size_t i = 0; i < n && !moving; i++)
			moving = fits(w, names[i]) ? arena_strdup(&cli->arena, names[i])
						   : NULL;
		json_decref(living);
		arena_release(&a);
		if (!moving)
			return 0;
		if (!home_holder(&cli->home) || clock_steady_ms() > until) {
			fault_set(f, FAULT_UNAVAILABLE, "/name",
				  "%.80s is still to be moved into the trash", moving);
			return fault_hint(f, "A host does that: cadre up.");
		}
		poll(NULL, 0, PAUSE_MS);
	}
}

static int not_found(const struct trash_entry *entry, const char *name, struct fault *f)
{
	fault_set(f, entry ? FAULT_INVALID : FAULT_NOT_FOUND, "/name",
		  entry ? "several removed workspaces begin with %.60s"
			: "the trash holds no workspace %.60s",
		  name);
	return fault_hint(f, "See them with: cadre undo.");
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
 * first one did. */
static int lock_trash(struct cli *cli)
{
	int fd = open(arena_printf(&cli->arena, "%s/trash", cli->home.dir),
		      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0)
		flock(fd, LOCK_EX);
	return fd;
}

/* The answer of a workspace that is to be made of the entry, unless one was made before. */
static json_t *make_once(struct cli *cli, const struct trash_entry *entry,
			 const char *agent, bool again, struct fault *f)
{
	int lock = lock_trash(cli);
	json_t *answer = NULL;

	if (again || check_again(cli, entry, f) == 0)
		answer = make_of(cli, entry, agent, f);
	if (lock >= 0)
		close(lock);
	return answer;
}

static int bring_back(struct cli *cli, const struct trash_entry *entry, const char *agent,
		      bool again)
{
	int hold = trash_hold(cli->home.dir, entry->path);
	struct fault f = { 0 };
	json_t *answer = NULL, *made;

	if (hold < 0)
		not_found(NULL, entry->name, &f);
	else
		answer = make_once(cli, entry, agent, again, &f);
	made = json_object_get(answer, "workspace");
	if (made && is_back(cli, entry, made, &f)) {
		if (cli->json)
			print_json(answer);
		else
			say_back(cli, entry, made);
	}
	json_decref(answer);
	if (hold >= 0)
		close(hold);
	return f.code ? cli_fault(cli, &f) : wait_end(cli, 0);
}

int undo_workspace(struct cli *cli, const char *name, const char *agent, bool again)
{
	struct arena a = { 0 };
	const struct wanted wanted = wanted_of(cli, name, &a);
	const struct trash_entry *entry = NULL;
	struct trash_entry *entries;
	struct fault f = { 0 };
	bool several = false;
	int status;

	if (wait_for_trash(cli, &wanted, &f) == 0) {
		size_t n = trash_list(cli->home.dir, &a, &entries);

		entry = find(entries, n, &wanted, &several);
		if (!entry || several)
			not_found(entry, name, &f);
	}
	status = f.code ? cli_fault(cli, &f) : bring_back(cli, entry, agent, again);
	arena_release(&a);
	return status;
}
