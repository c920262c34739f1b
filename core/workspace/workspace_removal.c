#include "core/workspace/workspace_removal.h"

#include <inttypes.h>
#include <string.h>

#include "core/call/id.h"
#include "core/vault/notes.h"

enum {
	NAMED = 4,
	LOOK_MOST = 1000000, /* entries of one folder */
	NOTES_NAMED = 5,
	NAMES_ROOM = 100, /* bytes */
	WORDS = 4, /* bytes: "uncommitted or unmerged work" less "work that was done there" */
};

/* The path of a workspace's work on this machine. */
static const char *work_of(struct call *call, const struct workspace_row *w)
{
	struct arena *a = &call->arena;

	if (w->backend == BACKEND_KIND_PROCESS)
		return arena_printf(a, "%s/%s", call->settings->home, w->path);
	return arena_printf(a, "%s/disks/%s", call->settings->home,
			    id_public(call, ID_WORKSPACE, w->id, w->created_at));
}

static bool is_of_trash(const struct call *call, const char *source)
{
	size_t n = strlen(call->settings->home);

	return source && !strncmp(source, call->settings->home, n) &&
	       !strncmp(source + n, "/trash/", 7);
}

static struct folder *workspace_removal_add(struct call *call,
					    const struct workspace_row *w)
{
	struct removal *l = call->removal;
	struct folder *f =
		arena_push(&call->arena, &l->folders, &l->n, sizeof(struct folder));

	*f = (struct folder){
		.name = arena_printf(&call->arena, "%s/%s", w->team_name,
				     w->agent_name ? w->agent_name : w->name),
		.path = work_of(call, w),
		.stamp = arena_printf(
			&call->arena, "%s/guests/%s.whole", call->settings->home,
			id_public(call, ID_WORKSPACE, w->id, w->created_at)),
		.is_vm = w->backend == BACKEND_KIND_QEMU,
		.since = w->created_at,
		.parent = w->parent,
		.brought_back = is_of_trash(call, w->source),
	};
	return f;
}

/* The files that a workspace began with are work as well where they exist nowhere else: it
 * came back from the trash, or its parent is gone. */
static int add_beginnings(struct call *call, size_t from)
{
	struct removal *l = call->removal;
	struct workspace_row parent = { 0 };
	int rc = 0;

	for (size_t i = from; i < l->n && rc >= 0; i++) {
		struct folder *f = &l->folders[i];
		bool alone = f->brought_back;

		if (f->parent) {
			rc = sql_row(call, workspace_by_id, &parent, .id = f->parent);
			alone |= rc == 0 || parent.state == WORKSPACE_STATE_DESTROYED;
		}
		if (alone) {
			f->since = 0;
			f->stamp = NULL;
		}
	}
	return rc;
}

/* Names the snapshots of a workspace, which go into the trash as entries of their own. */
static void add_snapshots(struct call *call, const struct workspace_row *w,
			  struct folder *f)
{
	if (!f->is_vm)
		f->snapshots = arena_printf(
			&call->arena, "%s/snapshots/%s", call->settings->home,
			id_public(call, ID_WORKSPACE, w->id, w->created_at));
}

static bool holds_work(const struct workspace_row *w)
{
	/* A guest that was attached lives elsewhere, and stays; so does a person's folder. */
	return w->state != WORKSPACE_STATE_DESTROYED &&
	       w->backend != BACKEND_KIND_ATTACH && w->backend != BACKEND_KIND_FOLDER;
}

int removal_add(struct call *call, const struct workspace_row *w)
{
	size_t from = call->removal->n;

	if (holds_work(w))
		add_snapshots(call, w, workspace_removal_add(call, w));
	return add_beginnings(call, from);
}

int removal_add_restore(struct call *call, const struct workspace_row *w)
{
	struct folder *f = workspace_removal_add(call, w);
	struct snapshot_row s;
	struct query q;
	int rc;

	sql_query(call, &q, snapshot_lines, .workspace = w->id);
	while ((rc = sql_next(call, &q, &s)) > 0)
		if (s.state == SNAPSHOT_STATE_READY && s.created_at > f->since)
			f->since = s.created_at;
	query_end(&q);
	call->removal->says = arena_printf(&call->arena,
					   "what was done in %s since its last snapshot "
					   "would be replaced",
					   f->name);
	return rc;
}

void removal_add_snapshot(struct call *call, const struct workspace_row *w,
			  const struct snapshot_row *s)
{
	struct folder *f = workspace_removal_add(call, w);

	/* Another snapshot that was put back is a change as well, so no stamp counts. */
	f->stamp = NULL;
	f->since = s->created_at;
	if (!f->is_vm)
		f->kept = arena_printf(
			&call->arena, "%s/snapshots/%s/%s", call->settings->home,
			id_public(call, ID_WORKSPACE, w->id, w->created_at),
			id_public(call, ID_SNAPSHOT, s->id, s->created_at));
	call->removal->says =
		arena_printf(&call->arena,
			     "snapshot %s is the only copy of what %s held: "
			     "it was changed since",
			     s->name, f->name);
}

int removal_add_team(struct call *call, int64_t team)
{
	size_t from = call->removal->n;
	struct workspace_row w;
	struct query q;
	int rc;

	sql_query(call, &q, workspace_lines, .team = team);
	while ((rc = sql_next(call, &q, &w)) > 0)
		if (holds_work(&w))
			add_snapshots(call, &w, workspace_removal_add(call, &w));
	query_end(&q);
	return rc < 0 ? rc : add_beginnings(call, from);
}

int removal_add_hands(struct call *call, int64_t team)
{
	struct team_hands_row hands;
	int rc = sql_row(call, team_hands, &hands, .team = team, .now = call->now);

	if (rc <= 0)
		return rc;
	call->removal->held += hands.held;
	call->removal->mail += hands.mail;
	return 0;
}

void removal_add_notes(struct call *call, const char *team)
{
	struct removal *l = call->removal;

	*(const char **)arena_push(&call->arena, &l->purged, &l->n_purged,
				   sizeof(*l->purged)) =
		arena_printf(&call->arena, "teams/%s", team);
}

/* --- what is lost, and what is kept ------------------------------------------------- */

/* A disk of a VM, which nobody looks into, counts as work. */
static void workspace_removal_look(struct call *call, struct removal *l)
{
	int64_t most = settings_trash_bytes(call->settings), snapshots;

	for (size_t i = 0; i < l->n; i++) {
		struct folder *f = &l->folders[i];

		f->bytes = call->settings->look_at_work(f->path, f->stamp, f->since,
							LOOK_MOST, &f->worked);
		if (f->kept)
			f->bytes =
				call->settings->look_at_work(f->kept, NULL, 0, 0, NULL);
		f->worked |= f->is_vm;
		f->too_large = f->bytes > most;
		l->worked += f->worked;
		l->kept += f->bytes && !f->too_large;
		l->bytes += f->too_large ? 0 : f->bytes;
		snapshots = f->snapshots ? call->settings->look_at_work(f->snapshots,
									NULL, 0, 0, NULL)
					 : 0;
		/* The trash takes no more of them than it may hold, and none where it keeps
		 * nothing. */
		l->bytes += snapshots < most ? snapshots : most;
	}
}

/* Finds what the trash gives up for what comes into it now. */
static void look_at_trash(struct call *call, struct removal *l)
{
	if (l->bytes && call->settings->look_at_trash)
		l->n_losers = call->settings->look_at_trash(
			call->settings->home, l->bytes,
			settings_trash_bytes(call->settings), &call->arena, &l->losers);
}

/* Names the first few, and says that there are more. */
static void name_note(struct call *call, struct removal *l, const char *path)
{
	const char *so_far = l->note_names ? l->note_names : "",
		   *name = strchr(path, '/') + 1;
	const bool named = l->notes <= NOTES_NAMED &&
			   strlen(so_far) + strlen(name) <= NAMES_ROOM;

	if (l->notes_more)
		return;
	l->notes_more = !named;
	l->note_names = arena_printf(&call->arena, "%s%s%s", so_far, *so_far ? ", " : "",
				     named ? name : "…");
}

static int count_note(void *with, const struct note_entry *entry, struct fault *f)
{
	struct call *call = with;
	struct removal *l = call->removal;
	int rc = vault_is_persons(call->settings->notes, entry, f);

	if (rc < 0)
		return rc;
	if (rc) {
		l->notes++;
		l->note_bytes += entry->stamp.size;
		name_note(call, l, entry->path);
	}
	return entry->folder ? NOTES_ENTER : NOTES_PASS;
}

/* Counts the notes that would be purged. */
static int look_into_vault(struct call *call, struct removal *l)
{
	const struct notes *notes = call->settings->notes;
	int rc = 0;

	for (size_t i = 0; notes && rc >= 0 && i < l->n_purged; i++)
		rc = notes->walk(notes->self, l->purged[i], NULL, count_note, call,
				 &call->fault);
	return rc;
}

/* Fills in what git would say of the work in those that are named, as far as `room` bytes
 * go. */
static void look_at_git(struct call *call, struct removal *l, size_t room)
{
	const char *text;
	size_t named = 0, len;

	for (size_t i = 0; i < l->n && named < NAMED; i++) {
		struct folder *f = &l->folders[i];

		named += f->worked;
		if (!f->worked || f->is_vm || !call->settings->tell_git_work)
			continue;
		text = call->settings->tell_git_work(&call->arena, f->path, f->stamp,
						     f->since, LOOK_MOST);
		l->told += text != NULL;
		len = text ? strlen(text) + strlen(" ()") : 0;
		if (!text || len > room)
			continue;
		f->git = text;
		room -= len;
	}
}

/* The names of those with work, or of those that are too large for the trash as well. */
static const char *workspace_removal_names(struct call *call, const struct removal *l,
					   bool too_large)
{
	const char *which = "";
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		const struct folder *f = &l->folders[i];
		const char *fact = f->is_vm ? "a VM" : too_large ? NULL : f->git;

		if (!f->worked || (too_large && !f->too_large))
			continue;
		if (++n <= NAMED)
			which = arena_printf(&call->arena, "%s%s%s%s%s%s", which,
					     n > 1 ? ", " : "", f->name, fact ? " (" : "",
					     fact ? fact : "", fact ? ")" : "");
	}
	return n > NAMED ? arena_printf(&call->arena, "%s, …", which) : which;
}

static const char *workspace_removal_too_large(struct call *call, const struct removal *l)
{
	const char *which = call->settings->config.workspace_keep_days
				    ? workspace_removal_names(call, l, true)
				    : "";

	return *which ? arena_printf(&call->arena, "; too large to keep: %s", which) : "";
}

/* Whether the trash of the vault has room for the notes. */
static bool notes_are_kept(const struct call *call, const struct removal *l)
{
	int64_t most = settings_trash_bytes(call->settings);

	return l->notes && most && l->note_bytes <= most;
}

static int hint_at_purge(struct call *call, const struct removal *l)
{
	if (!notes_are_kept(call, l))
		return fault_hint(&call->fault,
				  "Do it with {confirm=true|--yes}. Without purge the "
				  "folder is archived in the vault.");
	return fault_hint(&call->fault,
			  "Do it with {confirm=true|--yes}. What goes can be brought "
			  "back for %" PRId64 " days: cadre undo. Without purge the "
			  "folder is archived.",
			  call->settings->config.workspace_keep_days);
}

static const char *notes_that_go(struct call *call, const struct removal *l)
{
	return arena_printf(
		&call->arena,
		"%zu note%s of the vault's folder%s %s would be removed%s (%s)%s%s",
		l->notes, l->notes == 1 ? "" : "s", l->n_purged > 1 ? "s" : "",
		l->n_purged > 1 ? "teams/" : l->purged[0],
		notes_are_kept(call, l) ? "" : " for good", l->note_names,
		l->worked ? ", and work in " : "",
		l->worked ? workspace_removal_names(call, l, false) : "");
}

static const char *work_that_goes(struct call *call, const struct removal *l)
{
	return l->says ? l->says
		       : arena_printf(&call->arena,
				      "%zu workspace%s would go, %zu with %s: %s", l->n,
				      l->n == 1 ? "" : "s", l->worked,
				      l->told == l->worked
					      ? "uncommitted or unmerged work"
					      : "work that was done there",
				      workspace_removal_names(call, l, false));
}

/* Older entries, which nobody is told of again. */
static const char *workspace_removal_losers(struct call *call, const struct removal *l)
{
	const char *which = "";

	for (size_t i = 0; i < l->n_losers && i < NAMED; i++)
		which = arena_printf(&call->arena, "%s%s%s", which, i ? ", " : "",
				     l->losers[i]);
	return arena_printf(&call->arena,
			    "the trash has no room for what %zu workspace%s held that "
			    "%s removed before, which goes for good: %s%s",
			    l->n_losers, l->n_losers == 1 ? "" : "s",
			    l->n_losers == 1 ? "was" : "were", which,
			    l->n_losers > NAMED ? ", …" : "");
}

static const char *hands(struct call *call, const struct removal *l)
{
	const char *held = arena_printf(&call->arena, "%" PRId64 " task%s held by agents",
					l->held, l->held == 1 ? " is" : "s are"),
		   *mail = arena_printf(&call->arena,
					"the operator has not read %" PRId64 " message%s",
					l->mail, l->mail == 1 ? "" : "s");

	return arena_printf(&call->arena, "%s%s%s", l->held ? held : "",
			    l->held && l->mail ? ", and " : "", l->mail ? mail : "");
}

static const char *all_that_goes(struct call *call, const struct removal *l)
{
	const char *parts[] = {
		l->notes    ? notes_that_go(call, l)
		: l->worked ? work_that_goes(call, l)
			    : "",
		l->held || l->mail ? hands(call, l) : "",
		l->n_losers ? workspace_removal_losers(call, l) : "",
	};
	const char *text = "";

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (*parts[i])
			text = arena_printf(&call->arena, "%s%s%s", text,
					    *text ? "; " : "", parts[i]);
	return arena_printf(&call->arena, "%s%s", text,
			    workspace_removal_too_large(call, l));
}

/* Says as much of the work as there is room for beside all else that goes. */
static const char *all_with_facts(struct call *call, struct removal *l)
{
	const char *text = all_that_goes(call, l);
	size_t len = strlen(text) + WORDS;

	if (l->says || len >= sizeof(call->fault.text))
		return text;
	look_at_git(call, l, sizeof(call->fault.text) - 1 - len);
	return all_that_goes(call, l);
}

/* Refuses a call by which work would be lost; a fault that says how much and whose. */
static int workspace_removal_refuse(struct call *call, struct removal *l)
{
	int64_t days = call->settings->config.workspace_keep_days;

	fault_set(&call->fault, FAULT_CONFLICT, "/confirm", "%s",
		  all_with_facts(call, l));
	if (l->notes)
		return hint_at_purge(call, l);
	if (!l->worked && !l->n_losers)
		return fault_hint(&call->fault, "Do it with {confirm=true|--yes}. Tasks "
						"are cancelled; messages stay as rows.");
	return days && l->kept
		       ? fault_hint(&call->fault,
				    "Do it with {confirm=true|--yes}. What is kept can "
				    "be brought back for %" PRId64
				    " days{ by the operator|}: cadre undo.",
				    days)
		       : fault_hint(&call->fault, "Do it with {confirm=true|--yes}. "
						  "Nothing of it can be brought back.");
}

/* The end of the time for which what goes now can be brought back. */
static void kept_until(const struct call *call, char out[25])
{
	time_format(call->now + settings_keep_ms(call->settings), out);
}

static const char *workspace_removal_tell_kept(struct call *call, const struct removal *l)
{
	const struct config *config = &call->settings->config;
	const char *bound = "";
	char until[25];

	if (!config->workspace_keep_days || !l->kept)
		return "";
	kept_until(call, until);
	if (l->bytes > settings_trash_bytes(call->settings))
		bound = arena_printf(&call->arena,
				     "; but the trash has room for %" PRId64
				     " of these %" PRId64
				     " MiB, so that some of it goes for good",
				     config->workspace_trash_mb, l->bytes >> 20);
	return arena_printf(
		&call->arena,
		"what %zu workspace%s held is kept until %.10s at the latest%s: cadre undo",
		l->kept, l->kept == 1 ? "" : "s", until, bound);
}

static const char *tell_notes(struct call *call, const struct removal *l,
			      const char *text)
{
	char until[25];

	if (!notes_are_kept(call, l))
		return text;
	kept_until(call, until);
	return arena_printf(
		&call->arena,
		"%s%sits notes are kept until %.10s at the latest: cadre undo %s/", text,
		*text ? "; " : "", until, l->purged[l->n_purged - 1]);
}

const char *removal_tell(struct call *call)
{
	const struct removal *l = call->removal;
	const char *kept, *large, *text;

	if (!l || (!l->n && !l->notes))
		return NULL;
	kept = workspace_removal_tell_kept(call, l);
	large = workspace_removal_too_large(call, l);
	text = arena_printf(&call->arena, "%s%s", kept,
			    *kept || !*large ? large : large + 2);
	text = tell_notes(call, l, text);
	if (l->hostless && l->n)
		text = arena_printf(
			&call->arena,
			"%s%sno host runs: guests go on until the next `cadre "
			"up` ends them",
			text, *text ? "; " : "");
	return *text ? text : NULL;
}

/* --- in steps --------------------------------------------------------------------------- */

static bool is_confirmed(const struct call *call)
{
	const struct field *confirm = field_find(call->op->in, "confirm");

	return *(const bool *)((const char *)call->in + confirm->at);
}

/* Finds out what the call would remove, and looks at it: 0, 1 where it was done before, or
 * a fault. */
static int workspace_removal_plan(struct call *call, struct removal *l)
{
	int rc;

	l->hostless = !call_finds_host(call);
	call->removal = l;
	call->plans = true;
	rc = call_transact(call, false);
	call->plans = false;
	if (rc >= 0 && call->replayed)
		return 1;
	if (rc >= 0) {
		workspace_removal_look(call, l);
		look_at_trash(call, l);
		rc = look_into_vault(call, l);
	}
	if (rc >= 0 && (l->worked || l->notes || l->n_losers || l->held || l->mail) &&
	    !is_confirmed(call))
		return workspace_removal_refuse(call, l);
	return rc < 0 ? rc : 0;
}

int removal_run(struct call *call)
{
	struct removal removal = { 0 };
	int rc = call->settings->look_at_work ? workspace_removal_plan(call, &removal)
					      : 0;

	if (rc == 0)
		rc = call_transact(call, true);
	call->removal = NULL;
	return rc < 0 ? rc : 0;
}
