/* vault_run - runs the steps of an operation on notes, in their order. */
#include <stdio.h>
#include <string.h>

#include "core/call/space.h"
#include "core/vault/vault_inside.h"
#include "core/vault/vault_trash.h"

/* Clears the call's fault, after a failed step that need not succeed now. */
static void vault_run_forget(struct call *call)
{
	call->fault = (struct fault){ 0 };
}

/* --- earlier decisions ---------------------------------------------------------- */

struct note_move vault_move_read(const struct vault_move_row *r)
{
	return (struct note_move){
		.from = r->from_path,
		.to = r->to_path,
		.is = { r->ino, r->mtime, r->size },
		.was = { r->was_ino, r->was_mtime, r->was_size },
	};
}

static bool vault_run_is_staged(const struct note_move *m)
{
	return m->from[0] == '.' && !vault_trash_origin(m->from);
}

static bool vault_run_same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

static bool touches(const struct note_move *m, const char *path)
{
	return vault_run_same(m->from, path) || vault_run_same(m->to, path);
}

static int lock_of(struct call *call, const struct note_move *m, bool wait)
{
	const struct notes *notes = notes_of(call);

	if (vault_run_is_staged(m))
		return notes->lock(notes->self, m->to, NULL, wait, &call->fault);
	return notes->lock(notes->self, m->from, m->to, wait, &call->fault);
}

int vault_moves_read(struct call *call, struct vault_move_row **rows, size_t *n)
{
	int rc = call_begin(call, false);

	if (rc < 0)
		return rc;
	rc = sql_all(call, vault_moves, rows, n);
	store_rollback(call->store);
	return rc;
}

/* Tries to make a decided change that this call need not wait for. Returns true if the change
 * is made when the function returns. */
static bool try_make(struct call *call, const struct note_move *m)
{
	const struct notes *notes = notes_of(call);
	int lock = lock_of(call, m, false);
	bool made;

	if (lock < 0) {
		vault_run_forget(call);
		return false;
	}
	made = notes->make(notes->self, m, &call->fault) == 0;
	notes->unlock(notes->self, lock);
	vault_run_forget(call);
	return made;
}

/* Makes the decided changes that an earlier call perhaps did not make. Changes at this call's
 * own paths must be made before the call continues; the caller holds the locks of these paths. */
static int vault_run_settle(struct call *call, struct vault_work *w)
{
	const struct notes *notes = notes_of(call);
	struct vault_move_row *rows = NULL;
	size_t n = 0, n_done = 0;
	int64_t *done;
	int rc = vault_moves_read(call, &rows, &n);

	done = arena_alloc(&call->arena, (n + 1) * sizeof(*done));
	for (size_t i = 0; rc >= 0 && i < n; i++) {
		struct note_move m = vault_move_read(&rows[i]);
		bool made;

		if (w && (touches(&m, w->path) || touches(&m, w->to))) {
			rc = notes->make(notes->self, &m, &call->fault);
			made = rc >= 0;
		} else
			made = try_make(call, &m);
		if (made)
			done[n_done++] = rows[i].event;
	}
	if (w) {
		w->done = done;
		w->n_done = n_done;
	}
	return rc;
}

/* --- staged files without a decision ---------------------------------------------- */

/* Reads the row of vault_move that names the staged file. Returns 1 if there is a row, 0 if
 * not, or a negative fault code. The caller holds the file's lock. */
static int move_of_staged(struct call *call, const char *staged,
			  struct vault_move_row *row)
{
	int rc = call_begin(call, false);

	if (rc < 0)
		return rc;
	rc = sql_row(call, vault_move_of, row, .from_path = staged);
	store_rollback(call->store);
	return rc;
}

static int drop_orphan(void *with, const struct note_entry *entry, struct fault *f)
{
	struct call *call = with;
	const struct notes *notes = notes_of(call);
	int lock = notes->lock_staged(notes->self, entry->path, f);
	struct vault_move_row row;
	struct note_move m;
	int rc;

	if (lock < 0) {
		*f = (struct fault){ 0 };
		return NOTES_PASS;
	}
	rc = move_of_staged(call, entry->path, &row);
	if (rc == 0)
		notes->drop(notes->self, entry->path, f);
	notes->unlock(notes->self, lock);
	if (rc > 0) {
		m = vault_move_read(&row);
		try_make(call, &m); /* takes the lock of the note's folder, too */
	}
	*f = (struct fault){ 0 };
	return NOTES_PASS;
}

static void drop_orphans(struct call *call)
{
	struct fault none = { 0 };

	notes_of(call)->staged(notes_of(call)->self, drop_orphan, call, &none);
}

int vault_sweep(struct call *call)
{
	int rc = vault_run_settle(call, NULL);

	if (rc >= 0)
		drop_orphans(call);
	return rc;
}

/* --- the folder of a team -------------------------------------------------------------- */

/* A team's rows change at once, but the mirror moves the team's folder some time later. Before
 * the move, a folder teams/NAME may still belong to an ended team or to the former team with
 * this name. Until the move, a renamed team's notes are still under the old name. For this
 * reason an operation locks the folder and looks up the folder's team. If the folder is another
 * team's, the operation drops the lock, lets the mirror catch up, and plans anew. While the
 * lock is held, no process moves the folder. */
enum { TRIES = 4 };

static const struct team_folders *folders_of(const struct call *call)
{
	return call->settings->folders;
}

/* The name of the team whose folder is or contains the path, or NULL if the path is in no
 * team's folder. */
static const char *name_in(struct call *call, const char *path)
{
	if (!path || strncmp(path, "teams/", 6) != 0 || path[6] == '.' || !path[6])
		return NULL;
	return arena_strndup(&call->arena, path + 6, strcspn(path + 6, "/"));
}

/* The names of the teams in whose folders an operation works, at most two. A name is NULL if
 * the path is in no team's folder. If an agent walks through a folder, names[0] is the agent's
 * own team, wherever the walk begins. */
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

static int find_both(struct call *call, const char *const names[2], int64_t teams[2])
{
	int rc = vault_own_find_team(call, names[0], &teams[0]);

	return rc < 0 ? rc : vault_own_find_team(call, names[1], &teams[1]);
}

static int find_teams(struct call *call, const char *const names[2], int64_t teams[2])
{
	int rc = call_begin(call, false);

	if (rc < 0)
		return rc;
	rc = find_both(call, names, teams);
	store_rollback(call->store);
	return rc;
}

/* Whether the folder teams/`name` belongs to `team`, where 0 means no team. If the page names
 * `team`, or names no team and `team` is 0, returns 1. If the page names another team and
 * `team` is not 0, returns 0. Otherwise returns 1 only if `asked` is true and the mirror has
 * read all changes of teams. `asked` is true if the mirror was asked to update the folder. */
static int own_is_teams(struct call *call, const char *name, int64_t team, bool asked)
{
	const struct team_folders *folders = folders_of(call);
	int64_t has;

	if (!name)
		return 1;
	if (call->identity.agent && team != call->caller.team)
		return 0; /* the team was renamed meanwhile */
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

/* Returns 1 if each folder names[i] belongs to the team teams[i], or a negative fault code. If
 * this is not so for a folder, or is not known yet, returns 0 and sets `*which` to the folder's
 * index. */
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

/* Locks the paths of an operation and ensures that each folder, teams/NAME, belongs to the team
 * NAME. Returns the lock, or a negative fault code. The function may plan the operation anew. */
static int vault_run_hold(struct call *call, struct vault_work *w)
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
	if ((rc = find_both(call, names, teams)) < 0)
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

/* --- a write ------------------------------------------------------------------------- */

/* Makes a decided change after COMMIT. A failure here does not undo the write, since COMMIT has
 * decided the write. */
static int vault_run_make(struct call *call, const struct vault_work *w)
{
	const struct notes *notes = notes_of(call);
	struct fault why = { 0 };

	if (notes->make(notes->self, &w->move, &why) >= 0)
		return 0;
	return fault_set(&call->fault, FAULT_UNAVAILABLE, why.where, "%s", why.text);
}

static int vault_run_decide(struct call *call, struct vault_work *w)
{
	int rc = w->run(call, w);

	if (rc < 0)
		return rc;
	w->staged = true;
	rc = call_transact(call, true);
	/* If another call with this key was faster, this call returns the other call's answer.
	 * The file that this call staged is not needed any more. */
	if (rc < 0 || call->replayed)
		return rc;
	return vault_run_make(call, w);
}

static int vault_run_change(struct call *call, struct vault_work *w)
{
	const struct notes *notes = notes_of(call);
	int lock = vault_run_hold(call, w), rc;

	if (lock < 0)
		return lock;
	rc = vault_run_settle(call, w);
	if (rc >= 0 && !call->replayed)
		rc = vault_run_decide(call, w);
	if (w->keeps)
		notes->unlock(notes->self, w->kept);
	notes->unlock(notes->self, lock);
	if (rc >= 0 && vault_trash_origin(w->move.to))
		vault_trash_trim(call);
	/* After FAULT_UNAVAILABLE or FAULT_INTERNAL, the write has perhaps been decided, so the
	 * staged file stays. */
	if (rc != FAULT_UNAVAILABLE && rc != FAULT_INTERNAL) {
		struct fault kept = call->fault;

		vault_run_forget(call);
		drop_orphans(call);
		call->fault = kept;
	}
	return rc;
}

/* --- a read -------------------------------------------------------------------------- */

/* A read must show every acknowledged write. This function makes the decided changes that are
 * not made yet, or waits until another process has made these changes. */
static int vault_run_catch_up(struct call *call, const struct vault_work *w)
{
	const struct notes *notes = notes_of(call);
	struct vault_move_row *rows = NULL;
	size_t n = 0;
	int rc = vault_moves_read(call, &rows, &n), lock;

	for (size_t i = 0; rc >= 0 && i < n; i++) {
		struct note_move m = vault_move_read(&rows[i]);

		if ((w->path && !touches(&m, w->path)) || notes->made(notes->self, &m))
			continue;
		if ((lock = lock_of(call, &m, true)) < 0)
			return lock;
		rc = notes->make(notes->self, &m, &call->fault);
		notes->unlock(notes->self, lock);
	}
	return rc;
}

static int vault_run_look(struct call *call, struct vault_work *w)
{
	const struct notes *notes = notes_of(call);
	int rc = vault_run_catch_up(call, w), lock;

	if (rc < 0 || (lock = vault_run_hold(call, w)) < 0)
		return rc < 0 ? rc : lock;
	rc = w->run(call, w);
	notes->unlock(notes->self, lock);
	return rc;
}

/* --- all of it ------------------------------------------------------------------------ */

int vault_run(struct call *call)
{
	struct vault_work w = { 0 };
	int rc;

	call->vault = &w;
	call->plans = call->op->flags & OP_WRITE;
	rc = call_transact(call, false);
	call->plans = false;
	if (rc >= 0 && w.rows)
		rc = call_transact(call, true);
	if (rc >= 0 && !w.run) {
		call->vault = NULL;
		return 0; /* the handler asked for no work on files */
	}
	if (rc >= 0 && !notes_of(call))
		rc = fault_set(&call->fault, FAULT_UNAVAILABLE, "", "there is no vault");
	if (rc >= 0 && (call->op->flags & OP_WRITE))
		rc = vault_run_change(call, &w);
	else if (rc >= 0)
		rc = vault_run_look(call, &w);
	if (rc >= 0 && !(call->op->flags & OP_WRITE))
		rc = space_check(call);
	call->vault = NULL;
	return rc < 0 ? rc : 0;
}
