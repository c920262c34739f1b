/* undo_find - finds the removed workspace that is meant by a name, the beginning of one, or a
 * team and an agent. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "ops.gen.h"
#include "tools/cadre/undo/undo_inside.h"

/* --- teams --------------------------------------------------------------------------- */

static bool is_destroyed(const json_t *team)
{
	const char *state = json_string_value(json_object_get(team, "state"));

	return state && !strcmp(state, "destroyed");
}

/* The name of the only living team; NULL: there are none, or several. */
static const char *undo_find_only_team(const json_t *teams)
{
	const char *only = NULL;
	size_t i, n = 0;
	json_t *team;

	json_array_foreach(teams, i, team) {
		if (is_destroyed(team))
			continue;
		only = json_string_value(json_object_get(team, "name"));
		n++;
	}
	return n == 1 ? only : NULL;
}

/* A team that a removed workspace may have been of. */
struct origin {
	const char *team; /* NULL: no team of the state has such a name */
	bool lives;
	bool several; /* another team may be meant as well */
};

/* The team whose name begins that of a workspace, which is TEAM-AGENT-XXXX: names of teams
 * and agents may have dashes, so it may begin with those of several teams. */
static struct origin undo_find_origin_of(const json_t *teams, const char *workspace)
{
	struct origin origin = { 0 };
	json_t *team;
	size_t i;

	json_array_foreach(teams, i, team) {
		const char *name = json_string_value(json_object_get(team, "name"));
		size_t n = name ? strlen(name) : 0;

		if (!n || strncmp(workspace, name, n) != 0 || workspace[n] != '-')
			continue;
		origin.several |= origin.team && strcmp(origin.team, name) != 0;
		origin.lives |= !is_destroyed(team);
		origin.team = name;
	}
	return origin;
}

/* --- finding ------------------------------------------------------------------------ */

/* The words that ask for a workspace: its name, the beginning of that, or its team and
 * agent, with which its name `begins`; NULL: no team is said. */
struct wanted {
	const char *name, *begins, *team;
};

static struct wanted wanted_of(const struct cli *cli, const json_t *teams,
			       const char *name, struct arena *a)
{
	const char *slash = strchr(name, '/'), *agent = slash ? slash + 1 : name;
	struct wanted w = { .name = name };

	if (slash)
		w.team = arena_strndup(a, name, (size_t)(slash - name));
	else if (!(w.team = cli->team) && (w.team = undo_find_only_team(teams)))
		w.team = arena_strdup(a, w.team);
	if (w.team)
		w.begins = arena_printf(a, "%s-%s-", w.team, agent);
	return w;
}

/* 2: it is the very name, or of that agent; 1: it begins so; 0: it is another one. */
static int undo_find_fits(const struct wanted *w, const char *name)
{
	enum { DIGITS = 4 };
	size_t n = w->begins ? strlen(w->begins) : 0;

	if (!strcmp(name, w->name) ||
	    (n && !strncmp(name, w->begins, n) && strlen(name + n) == DIGITS))
		return 2;
	return !strncmp(name, w->name, strlen(w->name));
}

/* The entry of that name or agent, or of the one name that begins so; of several the
 * newest.  A workspace's snapshots, which were removed before it, do not make its own name
 * doubtful. */
static const struct trash_entry *undo_find_row(const struct trash_entry *entries,
					       size_t n, const struct wanted *w,
					       bool *several)
{
	const struct trash_entry *found = NULL;

	*several = false;
	for (size_t i = 0; i < n; i++)
		if (undo_find_fits(w, entries[i].name) == 2)
			return &entries[i];
	for (size_t i = 0; i < n; i++) {
		if (!undo_find_fits(w, entries[i].name) ||
		    (found && trash_is_snapshot(entries[i].name)))
			continue;
		*several |= found && strcmp(found->name, entries[i].name);
		found = found ? found : &entries[i];
	}
	return found;
}

static int still_moving(struct cli *cli, const char *name, struct fault *f)
{
	fault_set(f, FAULT_UNAVAILABLE, "/name",
		  "%.80s is still to be moved into the trash", name);
	return fault_hint(f, "%s",
			  undo_stay(cli) ? UNDO_STAY : "A host does that: cadre up.");
}

/* Waits while a host moves a wanted workspace into the trash: undo must not pass over the workspace
 * removed last and choose an older one.  0, or a fault where no host does the move. */
static int wait_for_trash(struct cli *cli, const struct wanted *w, struct fault *f)
{
	enum { MOST_MS = 10000, STAY_MS = 1000, PAUSE_MS = 50 };
	int64_t until = clock_steady_ms() + (undo_stay(cli) ? STAY_MS : MOST_MS);

	for (;;) {
		struct arena a = { 0 };
		json_t *living = undo_living(cli);
		const char **names, *moving = NULL;
		size_t n = undo_moving(cli, living, &a, &names);

		for (size_t i = 0; i < n && !moving; i++)
			moving = undo_find_fits(w, names[i])
					 ? arena_strdup(&cli->arena, names[i])
					 : NULL;
		json_decref(living);
		arena_release(&a);
		if (!moving)
			return 0;
		if (!home_holder(&cli->home) || clock_steady_ms() > until)
			return still_moving(cli, moving, f);
		poll(NULL, 0, PAUSE_MS);
	}
}

int undo_not_found(const char *name, struct fault *f)
{
	fault_set(f, FAULT_NOT_FOUND, "/name", "the trash holds no workspace %.60s",
		  name);
	return fault_hint(f, "See them with: cadre undo.");
}

static int doubtful(const char *name, struct fault *f)
{
	fault_set(f, FAULT_INVALID, "/name",
		  "several removed workspaces begin with %.60s", name);
	return fault_hint(f, "See them with: cadre undo.");
}

/* An entry that is found by a team and an agent may be another team's: of x-y-z-1a2b nobody
 * knows whether it was of agent z in team x-y, or of y-z in x, where there are both. */
static int check_team(const struct wanted *w, const struct undo_found *found,
		      bool several, struct fault *f)
{
	if (!several || !strncmp(found->entry->name, w->name, strlen(w->name)))
		return 0;
	fault_set(f, FAULT_INVALID, "/name", "%.80s may be of another team than %.64s",
		  found->entry->name, w->team);
	return fault_hint(f, "If it is the one: cadre undo %.80s", found->entry->name);
}

/* Fills in the team in which a workspace comes back: the call's team, else the workspace's own. */
static int choose_team(struct cli *cli, const json_t *teams, const struct wanted *w,
		       struct undo_found *found, struct arena *a, struct fault *f)
{
	struct origin origin = undo_find_origin_of(teams, found->entry->name);

	if (check_team(w, found, origin.several, f))
		return f->code;
	found->team = cli->team;
	if (!found->team && origin.lives && !origin.several)
		found->team = arena_strdup(a, origin.team);
	return 0;
}

int undo_find(struct cli *cli, const char *name, struct arena *a,
	      struct undo_found *found, struct fault *f)
{
	json_t *every = json_true(),
	       *teams = run_rows(cli, op_team_list, "teams", "all", every, f);
	const struct wanted w = wanted_of(cli, teams, name, a);
	struct trash_entry *entries;
	bool several;
	size_t n;

	if (!f->code && wait_for_trash(cli, &w, f) == 0) {
		n = trash_list(cli->home.dir, a, &entries);
		found->entry = undo_find_row(entries, n, &w, &several);
		if (!found->entry)
			undo_not_found(name, f);
		else if (several)
			doubtful(name, f);
		else
			choose_team(cli, teams, &w, found, a, f);
	}
	json_decref(teams);
	json_decref(every);
	return f->code;
}
