/*
 * vault_own - sees to it that a note's folder, teams/NAME, is that of the team NAME.
 *
 * Rows change at once; the mirror moves folders some time later.  Before the move, a name
 * may lead to the folder of an ended team or of the former team of that name.  A renamed
 * team's notes are still under the old name.  So an operation locks the folder and looks
 * up the folder's team.  If the folder is another team's, the operation drops the lock,
 * lets the mirror catch up, and plans anew.  While the lock is held nobody moves the
 * folder.
 */
#include <string.h>

#include "core/vault/vault_inside.h"

enum { TRIES = 4 };

static const struct team_folders *folders_of(const struct call *call)
{
	return call->settings->folders;
}

/* The team in whose folder a path is, or which it is; NULL: none. */
static const char *name_in(struct call *call, const char *path)
{
	if (!path || strncmp(path, "teams/", 6) != 0 || path[6] == '.' || !path[6])
		return NULL;
	return arena_strndup(&call->arena, path + 6, strcspn(path + 6, "/"));
}

/* The names of the two folders that an operation is about; NULL: none.  An agent who looks
 * through a folder meets its own team's. */
static void names_of(struct call *call, const struct vault_work *w, const char *names[2])
{
	names[0] = name_in(call, w->path ? w->path : w->folder);
	names[1] = name_in(call, w->to);
	if (!w->path && call->identity.agent)
		names[0] = call->caller.team_name;
}

static int vault_own_find_team(struct call *call, const char *name, int64_t *team)
{
	struct vault_team_row row;
	int rc;

	*team = 0;
	if (!name)
		return 0;
	if ((rc = sql_row(call, vault_team, &row, .name = name)) > 0)
		*team = row.id;
	return rc < 0 ? rc : 0;
}

static int find_teams(struct call *call, const char *const names[2], int64_t teams[2])
{
	int rc = call_begin(call, false);

	if (rc < 0)
		return rc;
	if ((rc = vault_own_find_team(call, names[0], &teams[0])) >= 0)
		rc = vault_own_find_team(call, names[1], &teams[1]);
	store_rollback(call->store);
	return rc;
}

/* Whether a folder is the team's (0: nobody's).  A folder whose page names no team is the
 * team's only on two conditions: the mirror was asked to update the folder (`asked`), and the
 * mirror has read every change of teams in the log.  A team that has just been renamed has its
 * folder elsewhere. */
static int own_is_teams(struct call *call, const char *name, int64_t team, bool asked)
{
	const struct team_folders *folders = folders_of(call);
	int64_t has;

	if (!name)
		return 1;
	if (call->identity.agent && team != call->caller.team)
		return 0; /* its team has another name by now */
	if ((has = folders->row(folders->self, name, &call->fault)) < 0)
		return (int)has;
	if (has == team)
		return 1;
	if (!asked || (has && team))
		return 0;
	return folders->followed(folders->self, call->store, &call->fault);
}

static int lock_all(struct call *call, const struct vault_work *w,
		    const char *const names[2])
{
	const struct notes *notes = notes_of(call);

	if (call->op->flags & OP_WRITE)
		return notes->lock(notes->self, w->path, w->to, true, &call->fault);
	return notes->lock_teams(notes->self, names[0], names[1], false, &call->fault);
}

static int plan_again(struct call *call)
{
	int rc;

	call->plans = call->op->flags & OP_WRITE;
	rc = call_transact(call, false);
	call->plans = false;
	return rc;
}

static int own_refuse(struct call *call, const char *const names[2], int at)
{
	fault_set(&call->fault, FAULT_UNAVAILABLE, at ? "/to" : "/path",
		  "the folder teams/%.64s is not up to date yet", names[at]);
	call->fault.retry_after_ms = 1000;
	return call->fault.code;
}

/* 1 if all folders are their teams', 0 with the one that is not, negative. */
static int are_own(struct call *call, const char *const names[2], const int64_t teams[2],
		   bool asked, int *which)
{
	int rc = own_is_teams(call, names[ *which = 0], teams[0], asked);

	return rc <= 0 ? rc : own_is_teams(call, names[*which = 1], teams[1], asked);
}

static int come(struct call *call, const char *const names[2], const int64_t teams[2])
{
	const struct team_folders *folders = folders_of(call);
	int rc = 0;

	for (int i = 0; rc >= 0 && i < 2; i++)
		if (names[i])
			rc = folders->settle(folders->self, call->store, names[i],
					     teams[i], &call->fault);
	return rc;
}

int vault_hold(struct call *call, struct vault_work *w)
{
	const char *names[2];
	int lock, rc, which = 0;

	for (int tries = 0;; tries++) {
		names_of(call, w, names);
		if ((lock = lock_all(call, w, names)) < 0)
			return lock;
		if (!folders_of(call) || call->replayed)
			return lock;
		rc = find_teams(call, names, w->teams);
		if (rc >= 0)
			rc = are_own(call, names, w->teams, tries > 0, &which);
		if (rc > 0)
			return lock;
		notes_of(call)->unlock(notes_of(call)->self, lock);
		if (rc == 0 && tries == TRIES)
			return own_refuse(call, names, which);
		if (rc < 0 || (rc = come(call, names, w->teams)) < 0 ||
		    (rc = plan_again(call)) < 0)
			return rc;
	}
}

int vault_held(struct call *call, const struct vault_work *w)
{
	const char *names[2];
	int64_t teams[2];
	int rc;

	if (!folders_of(call))
		return 0;
	names_of(call, w, names);
	if ((rc = vault_own_find_team(call, names[0], &teams[0])) < 0 ||
	    (rc = vault_own_find_team(call, names[1], &teams[1])) < 0)
		return rc;
	if (teams[0] == w->teams[0] && teams[1] == w->teams[1])
		return 0;
	return fault_set(&call->fault, FAULT_CONFLICT, "/path",
			 "the team of that folder has just ended, or changed its name");
}

int vault_make_in(struct call *call, const char *name)
{
	const struct notes *notes = notes_of(call);
	struct vault_move_row *rows = NULL;
	size_t n = 0;
	int rc = vault_moves_read(call, &rows, &n);

	for (size_t i = 0; rc >= 0 && i < n; i++) {
		const char *from = name_in(call, rows[i].from_path);
		const char *to = name_in(call, rows[i].to_path);
		struct note_move m = vault_move_read(&rows[i]);
		struct fault unmade = { 0 };

		if ((from && strcmp(from, name) == 0) || (to && strcmp(to, name) == 0))
			notes->make(notes->self, &m, &unmade);
	}
	return rc < 0 ? rc : 0;
}
