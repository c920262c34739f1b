/* vault_remove - notes that are deleted, and brought back from the vault's trash. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/call/space.h"
#include "core/vault/vault_inside.h"
#include "core/vault/vault_trash.h"

enum { REMOVED_MOST = 200000 }; /* notes that a list looks at */

/* --- deleting ---------------------------------------------------------------------- */

/* Finds a place in the trash at which nothing is; NULL: the note is not to be kept, or
 * the call's fault is filled. */
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

/* Tells how many earlier removals the trash gives up to make room for the note. */
static const char *vault_remove_losers(struct call *call, const struct vault_work *w)
{
	int64_t sum = w->move.is.size;
	struct vault_trash *entries;
	struct fault unread = { 0 };
	size_t n = 0, lost = 0;

	if (vault_trash_list(notes_of(call), &call->arena, &entries, &n, &unread) < 0)
		n = 0;
	for (size_t i = 0; i < n; i++)
		lost += (sum += entries[i].bytes) > settings_trash_bytes(call->settings);
	return lost ? arena_printf(&call->arena,
				   "; to make room, what %zu earlier removal%s left goes "
				   "for good",
				   lost, lost == 1 ? "" : "s")
		    : "";
}

/* Refuses to delete what is not empty unasked. */
static int vault_remove_refuse(struct call *call, const struct vault_work *w)
{
	bool kept = w->move.to != NULL;

	fault_set(&call->fault, FAULT_CONFLICT, "/confirm",
		  "note %.120s, %" PRId64 " bytes, would be deleted%s", w->path,
		  w->move.is.size, kept ? vault_remove_losers(call, w) : " for good");
	return kept ? fault_hint(&call->fault,
				 "Do it with {confirm=true|--yes}. It can be brought "
				 "back for %" PRId64 " days: {vault.restore}.",
				 call->settings->config.workspace_keep_days)
		    : fault_hint(&call->fault,
				 "Do it with {confirm=true|--yes}. Nothing of it can be "
				 "brought back.");
}

static int run_delete(struct call *call, struct vault_work *w)
{
	const struct vault_delete_in *in = call->in;
	struct vault_delete_out *out = call->out;
	int rc = vault_find(call, w, NULL);
	char until[25];

	out->path = w->path;
	if (rc < 0)
		return rc;
	w->move.to = place_for(call, w);
	if (call->fault.code)
		return call->fault.code;
	if (w->move.is.size && !in->confirm)
		return vault_remove_refuse(call, w);
	if (!w->move.to)
		return 0;
	time_format(call->now + settings_keep_ms(call->settings), until);
	out->note = arena_printf(&call->arena, "it is kept until %.10s at the latest: %s",
				 until,
				 call->identity.agent ? "vault restore" : "cadre undo");
	return 0;
}

/* The living team in whose folder the note is. */
static int vault_remove_find_team(struct call *call, struct vault_work *w)
{
	const char *name = w->path + strlen("teams/");
	struct vault_team_row r;
	int rc;

	if (strncmp(w->path, "teams/", strlen("teams/")) != 0)
		return 0;
	rc = sql_row(call, vault_team, &r,
		     .name = arena_strndup(&call->arena, name, strcspn(name, "/")));
	w->team = rc > 0 ? r.id : 0;
	w->team_made = rc > 0 ? r.created_at : 0;
	return rc;
}

int vault_delete(struct call *call, const struct vault_delete_in *in,
		 struct vault_delete_out *out)
{
	struct vault_work *w = call->vault;
	int rc = vault_note(call, in->path, "/path", VAULT_WRITE, &w->path);

	w->run = run_delete;
	w->event = EVENT_VAULT_DELETED;
	if (rc < 0 || (rc = vault_remove_find_team(call, w)) < 0)
		return rc;
	return (rc = vault_finish(call, &out->path, NULL)) <= 0 ? rc : 0;
}

/* --- what can be brought back -------------------------------------------------------- */

/* Whether a team of the entry's row is its team, and not one of a state that took the place
 * of the entry's. */
static bool is_owner(const struct vault_teams_row *team, const struct vault_trash *entry)
{
	if (entry->team_made >= 0)
		return team->created_at == entry->team_made;
	return team->created_at < entry->removed_at;
}

/* The living team whose an entry is, or NULL. */
static const struct vault_teams_row *owner_of(const struct vault_work *w,
					      const struct vault_trash *entry)
{
	for (size_t i = 0; i < w->n_living; i++)
		if (w->living[i].id == entry->team && is_owner(&w->living[i], entry))
			return &w->living[i];
	return NULL;
}

/* An agent may see what was removed of its own team. */
static bool vault_remove_is_own(const struct call *call, const struct vault_work *w,
				const struct vault_trash *entry)
{
	const struct vault_teams_row *owner = owner_of(w, entry);

	return !call->identity.agent || (owner && owner->id == call->caller.team);
}

/* The part of a path behind teams/NAME, with its slash; NULL: the path is in no team's
 * folder. */
static const char *rest_of(const char *path)
{
	return strncmp(path, "teams/", 6) == 0 ? strchr(path + 6, '/') : NULL;
}

/* The path from the root that a note in the trash would have now: its team may have another
 * name. */
static const char *present_path(struct call *call, const struct vault_teams_row *owner,
				const char *path)
{
	const char *rest = owner ? rest_of(path) : NULL;

	return rest ? arena_printf(&call->arena, "teams/%s%s", owner->name, rest) : path;
}

struct gathered {
	struct call *call;
	const struct vault_trash *entry;
	const struct vault_teams_row *owner; /* of the entry */
	const char *folder;
	struct vault_removed_note *notes;
	size_t n;
};

static bool vault_remove_is_below(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	return !n || (strncmp(path, folder, n) == 0 && path[n] == '/');
}

/* Whether the note that was at `path` could be brought back there by who calls. */
static bool may_come_back(struct call *call, const char *path)
{
	const char *out;
	bool may = vault_note(call, arena_printf(&call->arena, "/%s", path), "",
			      VAULT_WRITE, &out) == 0;

	call->fault = (struct fault){ 0 };
	return may;
}

static int vault_remove_gather(void *with, const struct note_entry *e, struct fault *f)
{
	struct gathered *g = with;
	struct arena *a = &g->call->arena;
	const char *path = vault_trash_origin(e->path);

	if (e->folder)
		return NOTES_ENTER;
	if (path)
		path = present_path(g->call, g->owner, path);
	if (!path || !vault_remove_is_below(path, g->folder) ||
	    !may_come_back(g->call, path))
		return NOTES_PASS;
	if (g->n == REMOVED_MOST)
		return fault_set(f, FAULT_EXHAUSTED, "/path",
				 "the trash holds too much; list a folder of it");
	*(struct vault_removed_note *)arena_push(
		a, &g->notes, &g->n, sizeof(*g->notes)) = (struct vault_removed_note){
		.path = arena_strdup(a, path),
		.size = e->stamp.size,
		.removed_at = g->entry->removed_at,
		.kept_until = g->entry->removed_at + settings_keep_ms(g->call->settings),
	};
	return NOTES_PASS;
}

static int vault_remove_newest_first(const void *a, const void *b)
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
		if (!vault_remove_is_own(g->call, w, &entries[i]))
			continue;
		g->entry = &entries[i];
		g->owner = owner_of(w, g->entry);
		rc = notes->walk(notes->self,
				 arena_printf(a, NOTES_TRASH "/%s", entries[i].name),
				 NULL, vault_remove_gather, g, &g->call->fault);
	}
	if (rc >= 0 && g->n > 1)
		qsort(g->notes, g->n, sizeof(*g->notes), vault_remove_newest_first);
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

/* --- bringing back --------------------------------------------------------------------- */

struct former {
	struct arena *arena;
	const char *path;
};

static int take_folder(void *with, const struct note_entry *e, struct fault *f)
{
	struct former *found = with;

	(void)f;
	if (e->folder)
		found->path = arena_strdup(found->arena, e->path);
	return NOTES_PASS;
}

/* The path that w->path, in the folder of the living team `owner`, has within an entry of
 * that team.  An entry is of one team, under the team's name at the removal.  NULL: no
 * such path. */
static const char *place_in(struct call *call, const struct vault_work *w,
			    const struct vault_teams_row *owner,
			    const struct vault_trash *entry)
{
	const struct notes *notes = notes_of(call);
	const char *rest = rest_of(w->path), *folder;
	struct former found = { .arena = &call->arena };

	if (!rest || strcmp(present_path(call, owner, w->path), w->path) != 0)
		return NULL;
	folder = arena_printf(&call->arena, NOTES_TRASH "/%s/teams", entry->name);
	if (notes->walk(notes->self, folder, NULL, take_folder, &found, &call->fault) < 0)
		return NULL;
	return found.path ? arena_printf(&call->arena, "%s%s", found.path, rest) : NULL;
}

/* Looks whether an entry has the note at w->move.from, and if so, keeps the entry from being
 * removed until the note is taken: 1, 0 or negative. */
static int vault_remove_look_in(struct call *call, struct vault_work *w,
				const struct vault_trash *entry)
{
	const struct notes *notes = notes_of(call);
	int rc = notes->look(notes->self, w->move.from, &w->move.is, &call->fault);

	if (rc <= 0)
		return rc;
	w->kept = vault_trash_lock(notes, &call->arena, entry, &call->fault);
	if (w->kept < 0)
		return w->kept;
	rc = notes->look(notes->self, w->move.from, &w->move.is, &call->fault);
	w->keeps = rc > 0;
	if (!w->keeps)
		notes->unlock(notes->self, w->kept);
	return rc;
}

/* Looks for the note in the entries of living teams, by the names that they have now, or
 * (`as_it_was`) in all entries at w->path itself.  1 with *whose, 0 or negative. */
static int find_removed(struct call *call, struct vault_work *w, bool as_it_was,
			const struct vault_teams_row **whose)
{
	const struct notes *notes = notes_of(call);
	struct arena *a = &call->arena;
	struct vault_trash *entries;
	size_t n;
	int rc = vault_trash_list(notes, a, &entries, &n, &call->fault);

	for (size_t i = 0; rc == 0 && i < n; i++) {
		const struct vault_teams_row *owner = owner_of(w, &entries[i]);

		if (!vault_remove_is_own(call, w, &entries[i]) || (!as_it_was && !owner))
			continue;
		*whose = owner;
		w->move.from = as_it_was ? arena_printf(a, NOTES_TRASH "/%s/%s",
							entries[i].name, w->path)
					 : place_in(call, w, owner, &entries[i]);
		if (w->move.from)
			rc = vault_remove_look_in(call, w, &entries[i]);
		if (call->fault.code)
			return call->fault.code;
	}
	return rc;
}

/* Whether w->path is in the folder of a team that lives. */
static bool is_in_living(const struct vault_work *w)
{
	const char *rest = rest_of(w->path);

	for (size_t i = 0; rest && i < w->n_living; i++)
		if (strlen(w->living[i].name) == (size_t)(rest - w->path - 6) &&
		    strncmp(w->living[i].name, w->path + 6,
			    (size_t)(rest - w->path - 6)) == 0)
			return true;
	return false;
}

/* Refuses to bring a note back into a folder that is not its team's, unless that place is
 * named: 0 or negative. */
static int vault_remove_check_place(struct call *call, const struct vault_work *w,
				    const struct vault_teams_row *owner)
{
	if (w->to || (!owner && !is_in_living(w)))
		return 0;
	if (owner) {
		fault_set(&call->fault, FAULT_CONFLICT, "/path",
			  "%.120s was a note of team %.64s, as it is called now", w->path,
			  owner->name);
		return fault_hint(&call->fault, "Bring it back as %.180s.",
				  present_path(call, owner, w->path));
	}
	fault_set(&call->fault, FAULT_CONFLICT, "/to",
		  "%.120s was a note of a former team of that name", w->path);
	return fault_hint(&call->fault, "Name the path to put it at with {to|--to}.");
}

static int vault_remove_refuse_taken(struct call *call, const char *to)
{
	fault_set(&call->fault, FAULT_CONFLICT, "/to", "there is a note %.180s", to);
	return fault_hint(&call->fault, "Move it away, or name another path with "
					"{to|--to}.");
}

/* If the note's place is taken, the note there is mostly the removed note, already
 * restored. */
static int none_removed(struct call *call, const char *path, const char *to)
{
	struct note_stamp there;
	int rc = notes_of(call)->look(notes_of(call)->self, to, &there, &call->fault);

	if (rc < 0)
		return rc;
	fault_set(&call->fault, FAULT_NOT_FOUND, "/path",
		  "the trash holds no note %.100s%s%.100s", path,
		  rc ? "; there is a note " : "", rc ? to : "");
	return fault_hint(&call->fault, rc ? "It may be brought back already. See what "
					     "the trash holds with: {vault.removed}."
					   : "See what it holds with: {vault.removed}.");
}

static int run_restore(struct call *call, struct vault_work *w)
{
	const char *to = w->to ? w->to : w->path;
	struct vault_restore_out *out = call->out;
	const struct vault_teams_row *whose = NULL;
	struct note_stamp there;
	int rc = find_removed(call, w, false, &whose);

	if (rc == 0 && (rc = find_removed(call, w, true, &whose)) > 0 &&
	    vault_remove_check_place(call, w, whose) < 0)
		return call->fault.code;
	if (rc == 0)
		return none_removed(call, w->path, to);
	if (rc > 0)
		rc = notes_of(call)->look(notes_of(call)->self, to, &there, &call->fault);
	if (rc > 0)
		return vault_remove_refuse_taken(call, to);
	w->move.to = to;
	*out = (struct vault_restore_out){ to, w->move.is.size };
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
	return (rc = vault_finish(call, &out->path, &out->size)) <= 0 ? rc : 0;
}
