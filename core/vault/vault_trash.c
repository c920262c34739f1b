#include "core/vault/vault_trash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/call/space.h"
#include "core/vault/vault_inside.h"

enum { REMOVED_MOST = 200000 }; /* maximum number of removed notes in one list */

/* --- names ------------------------------------------------------------------------ */

const char *vault_trash_place(struct arena *a, const struct vault_trash *as,
			      const char *path)
{
	char stamp[CLOCK_STAMP];

	clock_stamp(as->removed_at, stamp);
	return arena_printf(a,
			    NOTES_TRASH "/%s.%03d.%" PRId64 ".%" PRId64 "-%" PRId64
					".%016" PRIx64 "/%s",
			    stamp, (int)(as->removed_at % 1000), as->bytes, as->team,
			    as->team_made, hash_text(path), path);
}

const char *vault_trash_origin(const char *path)
{
	const size_t n = strlen(NOTES_TRASH "/");
	const char *slash = path && strncmp(path, NOTES_TRASH "/", n) == 0
				    ? strchr(path + n, '/')
				    : NULL;

	return slash ? slash + 1 : NULL;
}

static bool vault_trash_read_name(const char *name, struct vault_trash *out)
{
	struct tm tm = { 0 };
	const char *at = strptime(name, "%Y%m%d-%H%M%S", &tm);
	int ms, n = 0;

	*out = (struct vault_trash){ 0 };
	if (!at || sscanf(at, ".%3d.%" SCNd64 ".%" SCNd64 "-%" SCNd64 "%n", &ms,
			  &out->bytes, &out->team, &out->team_made, &n) < 4)
		return false;
	out->removed_at = (int64_t)timegm(&tm) * 1000 + ms;
	return out->bytes >= 0 && at[n] == '.';
}

/* --- entries ------------------------------------------------------------------------ */

struct listed {
	struct arena *arena;
	struct vault_trash *entries;
	size_t n;
};

static int vault_trash_add_entry(void *with, const struct note_entry *e, struct fault *f)
{
	struct listed *g = with;
	const char *name = strrchr(e->path, '/');
	struct vault_trash entry;

	(void)f;
	if (!e->folder || !name || !vault_trash_read_name(name + 1, &entry))
		return NOTES_PASS;
	entry.name = arena_strdup(g->arena, name + 1);
	arena_add(g->arena, g->entries, g->n, entry);
	return NOTES_PASS;
}

static int vault_trash_newest_first(const void *a, const void *b)
{
	return strcmp(((const struct vault_trash *)b)->name,
		      ((const struct vault_trash *)a)->name);
}

int vault_trash_list(const struct notes *notes, struct arena *a,
		     struct vault_trash **entries, size_t *n, struct fault *f)
{
	struct listed g = { .arena = a };
	int rc =
		notes->walk(notes->self, NOTES_TRASH, NULL, vault_trash_add_entry, &g, f);

	if (g.n > 1)
		qsort(g.entries, g.n, sizeof(*g.entries), vault_trash_newest_first);
	*entries = g.entries;
	*n = g.n;
	return rc < 0 ? rc : 0;
}

/* Locks an entry, so that the caller can take a note out of the entry or remove the entry.
 * Returns the lock, or a negative fault code. */
static int lock_entry(const struct notes *notes, struct arena *a,
		      const struct vault_trash *entry, bool wait, struct fault *f)
{
	return notes->lock(notes->self, arena_printf(a, NOTES_TRASH "/%s", entry->name),
			   NULL, wait, f);
}

/* Whether a decided restore must still move a note out of this entry. The caller holds the
 * entry's lock. */
static bool entry_is_needed(struct call *call, const struct vault_trash *entry)
{
	const struct notes *notes = call->settings->notes;
	const char *folder = arena_printf(&call->arena, NOTES_TRASH "/%s/", entry->name);
	struct vault_move_row *rows = NULL;
	size_t n = 0;
	bool wanted = vault_moves_read(call, &rows, &n) < 0;

	for (size_t i = 0; !wanted && i < n; i++) {
		struct note_move m = vault_move_read(&rows[i]);

		wanted = strncmp(m.from, folder, strlen(folder)) == 0 &&
			 !notes->made(notes->self, &m);
	}
	return wanted;
}

static void vault_trash_remove_entry(struct call *call, const struct vault_trash *entry)
{
	const struct notes *notes = call->settings->notes;
	int lock = lock_entry(notes, &call->arena, entry, false, &call->fault);

	if (lock < 0)
		return;
	if (!entry_is_needed(call, entry))
		notes->forget(notes->self, entry->name, &call->fault);
	notes->unlock(notes->self, lock);
}

void vault_trash_trim(struct call *call)
{
	const struct settings *s = call->settings;
	const int64_t old = call->now - settings_keep_ms(s);
	const struct arena_mark mark = arena_mark(&call->arena);
	const struct fault before = call->fault;
	struct vault_trash *entries;
	int64_t sum = 0;
	size_t n = 0;

	if (s->notes &&
	    vault_trash_list(s->notes, &call->arena, &entries, &n, &call->fault) < 0)
		n = 0;
	for (size_t i = 0; i < n; i++) {
		sum += entries[i].bytes;
		if (sum > settings_trash_bytes(s) || entries[i].removed_at <= old)
			vault_trash_remove_entry(call, &entries[i]);
	}
	arena_reset(&call->arena, mark);
	call->fault = before;
}

/* --- deleting ---------------------------------------------------------------------- */

/* Finds a free path in the trash for a note. Returns NULL if the trash does not keep the note,
 * or if the function failed. After a failure, the call's fault is filled. */
static const char *place_for(struct call *call, const struct vault_work *w)
{
	const struct notes *notes = notes_of(call);
	int64_t size = w->move.is.size;
	struct note_stamp there;

	if (!size || size > settings_trash_bytes(call->settings))
		return NULL;
	for (int64_t at = call->now;; at++) {
		const struct vault_trash as = { NULL, at, size, w->team, w->team_made };
		const char *to = vault_trash_place(&call->arena, &as, w->path);

		if (notes->look(notes->self, to, &there, &call->fault) <= 0)
			return call->fault.code ? NULL : to;
	}
}

/* Refuses to delete a note that is not empty. The fault says how to confirm the call. */
static int vault_trash_refuse(struct call *call, const struct vault_work *w)
{
	bool kept = w->move.to != NULL;

	fault_set(&call->fault, FAULT_CONFLICT, "/confirm",
		  "note %.120s, %" PRId64 " bytes, would be deleted%s", w->path,
		  w->move.is.size, kept ? "" : " for good");
	return kept ? fault_hint(&call->fault,
				 "Add {confirm=true|--yes} to do it. It can be brought "
				 "back for %" PRId64 " days: {vault.restore}.",
				 call->settings->config.workspace_keep_days)
		    : fault_hint(
			      &call->fault,
			      "Add {confirm=true|--yes} to do it. This cannot be undone.");
}

static int run_delete(struct call *call, struct vault_work *w)
{
	const struct vault_delete_in *in = call->in;
	struct vault_delete_out *out = call->out;
	int rc = vault_find(call, w, NULL);
	char until[25];

	if (rc < 0)
		return rc;
	w->move.to = place_for(call, w);
	if (call->fault.code)
		return call->fault.code;
	if (w->move.is.size && !in->confirm)
		return vault_trash_refuse(call, w);
	if (!w->move.to)
		return 0;
	time_format(call->now + settings_keep_ms(call->settings), until);
	out->note = arena_printf(&call->arena,
				 "it is kept until %.10s at the latest; to bring it "
				 "back: %s",
				 until,
				 call->identity.agent ? "vault restore" : "cadre undo");
	return 0;
}

int vault_delete(struct call *call, const struct vault_delete_in *in,
		 struct vault_delete_out *out)
{
	struct vault_work *w = call->vault;
	struct vault_team_row team;
	int rc = vault_note(call, in->path, "/path", VAULT_WRITE, &w->path);

	w->run = run_delete;
	w->event = EVENT_VAULT_DELETED;
	if (rc < 0 || (rc = vault_team_in(call, w->path, &team)) < 0)
		return rc;
	if (rc > 0) {
		w->team = team.id;
		w->team_made = team.created_at;
	}
	return vault_finish(call, &out->path, NULL);
}

/* --- notes that can be restored ------------------------------------------------------ */

/* The living team that owns an entry, or NULL. After a restore of a backup, a team's row number
 * may belong to another team, so the time of creation must match, too. */
static const struct vault_teams_row *vault_trash_owner(const struct vault_work *w,
						       const struct vault_trash *entry)
{
	for (size_t i = 0; i < w->n_living; i++) {
		const struct vault_teams_row *team = &w->living[i];

		if (team->id == entry->team && team->created_at == entry->team_made)
			return team;
	}
	return NULL;
}

/* Whether the caller may see the removed notes of a team. An agent may see only the removed
 * notes of its own team. */
static bool vault_trash_is_seen(const struct call *call,
				const struct vault_teams_row *owner)
{
	return !call->identity.agent || (owner && owner->id == call->caller.team);
}

struct gathered {
	struct call *call;
	const struct vault_trash *entry;
	const char *folder;
	struct vault_removed_note *notes;
	size_t n;
};

/* Whether the caller may restore a note to the note's old path `path`. */
static bool may_come_back(struct call *call, const char *path)
{
	const char *out;
	bool may = vault_note(call, arena_printf(&call->arena, "/%s", path), "",
			      VAULT_WRITE, &out) == 0;

	call->fault = (struct fault){ 0 };
	return may;
}

static int vault_trash_gather(void *with, const struct note_entry *e, struct fault *f)
{
	struct gathered *g = with;
	struct arena *a = &g->call->arena;
	const char *path = vault_trash_origin(e->path);
	size_t n = strlen(g->folder);

	if (e->folder)
		return NOTES_ENTER;
	if (!path || (n && (strncmp(path, g->folder, n) != 0 || path[n] != '/')) ||
	    !may_come_back(g->call, path))
		return NOTES_PASS;
	if (g->n == REMOVED_MOST)
		return fault_set(f, FAULT_EXHAUSTED, "/path",
				 "the trash holds too much; list one folder of it");
	arena_add(a, g->notes, g->n,
		  (struct vault_removed_note){
			  .path = arena_strdup(a, path),
			  .size = e->stamp.size,
			  .removed_at = g->entry->removed_at,
			  .kept_until = g->entry->removed_at +
					settings_keep_ms(g->call->settings),
		  });
	return NOTES_PASS;
}

static int vault_trash_last_first(const void *a, const void *b)
{
	const struct vault_removed_note *x = a, *y = b;

	if (x->removed_at != y->removed_at)
		return x->removed_at > y->removed_at ? -1 : 1;
	return strcmp(x->path, y->path);
}

static int gather_all(struct gathered *g, const struct vault_work *w)
{
	const struct notes *notes = notes_of(g->call);
	struct arena *a = &g->call->arena;
	struct vault_trash *entries;
	size_t n;
	int rc = vault_trash_list(notes, a, &entries, &n, &g->call->fault);

	for (size_t i = 0; rc >= 0 && i < n; i++) {
		if (!vault_trash_is_seen(g->call, vault_trash_owner(w, &entries[i])))
			continue;
		g->entry = &entries[i];
		rc = notes->walk(notes->self,
				 arena_printf(a, NOTES_TRASH "/%s", entries[i].name),
				 NULL, vault_trash_gather, g, &g->call->fault);
	}
	if (rc >= 0 && g->n > 1)
		qsort(g->notes, g->n, sizeof(*g->notes), vault_trash_last_first);
	return rc < 0 ? rc : 0;
}

static int run_removed(struct call *call, struct vault_work *w)
{
	const struct vault_removed_in *in = call->in;
	struct vault_removed_out *out = call->out;
	struct gathered g = { .call = call, .folder = w->folder };
	size_t at = (size_t)in->offset;
	int rc = gather_all(&g, w);

	if (rc < 0)
		return rc;
	at = at < g.n ? at : g.n;
	out->notes = g.notes + at;
	while (at + out->n_notes < g.n &&
	       space_take(call, &record_vault_removed_note, &out->notes[out->n_notes]))
		out->n_notes++;
	out->next = (int64_t)(at + out->n_notes);
	out->more = at + out->n_notes < g.n;
	return 0;
}

int vault_removed(struct call *call, const struct vault_removed_in *in,
		  struct vault_removed_out *out)
{
	struct vault_work *w = call->vault;
	int rc = sql_all(call, vault_teams, &w->living, &w->n_living);

	(void)out;
	w->run = run_removed;
	return rc < 0 ? rc : vault_folder(call, in->path, "/path", &w->folder);
}

/* --- restoring ------------------------------------------------------------------------- */

/* Looks for the note in an entry. Returns 1 if the note is found, 0 if not, or a negative fault
 * code. If the note is found, a lock prevents the removal of the entry until the call ends. */
static int vault_trash_look_in(struct call *call, struct vault_work *w,
			       const struct vault_trash *entry)
{
	const struct notes *notes = notes_of(call);
	int rc;

	w->move.from =
		arena_printf(&call->arena, NOTES_TRASH "/%s/%s", entry->name, w->path);
	rc = notes->look(notes->self, w->move.from, &w->move.is, &call->fault);
	if (rc <= 0)
		return rc;
	w->kept = lock_entry(notes, &call->arena, entry, true, &call->fault);
	if (w->kept < 0)
		return w->kept;
	rc = notes->look(notes->self, w->move.from, &w->move.is, &call->fault);
	w->keeps = rc > 0;
	if (!w->keeps)
		notes->unlock(notes->self, w->kept);
	return rc;
}

/* Refuses to restore a note if the note's folder now belongs to a team other than the team of
 * the entry. If the caller names another path, the restore is not refused. Returns 0 or a
 * negative fault code. */
static int vault_trash_check_place(struct call *call, const struct vault_work *w,
				   const struct vault_teams_row *owner)
{
	const char *name = strncmp(w->path, "teams/", 6) == 0 ? w->path + 6 : "";
	const struct vault_teams_row *there = NULL;

	for (size_t i = 0; i < w->n_living; i++) {
		size_t n = strlen(w->living[i].name);

		if (strncmp(name, w->living[i].name, n) == 0 && name[n] == '/')
			there = &w->living[i];
	}
	if (w->to || there == owner)
		return 0;
	if (owner)
		fault_set(&call->fault, FAULT_CONFLICT, "/to",
			  "%.120s was a note of the team that is now called %.64s",
			  w->path, owner->name);
	else
		fault_set(&call->fault, FAULT_CONFLICT, "/to",
			  "%.120s was a note of a former team of that name", w->path);
	return fault_hint(&call->fault, "Name the new path with {to|--to}.");
}

/* Finds the newest entry that contains the note, among the entries that the caller may see.
 * Returns 1 if an entry is found, 0 if not, or a negative fault code. */
static int find_removed(struct call *call, struct vault_work *w)
{
	struct vault_trash *entries;
	size_t n;
	int rc = vault_trash_list(notes_of(call), &call->arena, &entries, &n,
				  &call->fault);

	for (size_t i = 0; rc == 0 && i < n; i++) {
		const struct vault_teams_row *owner = vault_trash_owner(w, &entries[i]);

		if (vault_trash_is_seen(call, owner) &&
		    (rc = vault_trash_look_in(call, w, &entries[i])) > 0 &&
		    vault_trash_check_place(call, w, owner) < 0)
			return call->fault.code;
	}
	return rc;
}

/* Fails since no entry contains the note. If there is a note at `to`, an earlier call has
 * probably restored the removed note already. */
static int none_removed(struct call *call, const char *path, const char *to)
{
	struct note_stamp there;
	int rc = notes_of(call)->look(notes_of(call)->self, to, &there, &call->fault);

	if (rc < 0)
		return rc;
	fault_set(&call->fault, FAULT_NOT_FOUND, "/path",
		  "the trash holds no note %.100s%s%.100s", path,
		  rc ? "; there is a note " : "", rc ? to : "");
	return fault_hint(&call->fault,
			  rc ? "The note may be back already. List the trash with: "
			       "{vault.removed}."
			     : "List the trash with: {vault.removed}.");
}

static int run_restore(struct call *call, struct vault_work *w)
{
	const char *to = w->to ? w->to : w->path;
	int rc = find_removed(call, w);

	if (rc <= 0)
		return rc ? rc : none_removed(call, w->path, to);
	w->move.to = to;
	if ((rc = vault_vacant(call, to)) == FAULT_CONFLICT)
		fault_hint(&call->fault, "Move it away, or name another path with "
					 "{to|--to}.");
	return rc;
}

int vault_restore(struct call *call, const struct vault_restore_in *in,
		  struct vault_restore_out *out)
{
	struct vault_work *w = call->vault;
	int rc = vault_note(call, in->path, "/path", VAULT_WRITE, &w->path);

	if (rc < 0 ||
	    (in->to && (rc = vault_note(call, in->to, "/to", VAULT_WRITE, &w->to)) < 0) ||
	    (rc = sql_all(call, vault_teams, &w->living, &w->n_living)) < 0)
		return rc;
	if (w->to && strcmp(w->to, w->path) == 0)
		w->to = NULL;
	w->run = run_restore;
	w->event = EVENT_VAULT_RESTORED;
	return vault_finish(call, &out->path, &out->size);
}
