#include "core/workspace/workspace_removal.h"

#include <inttypes.h>
#include <string.h>

#include "core/call/id.h"
#include "core/call/space.h"
#include "core/task/task.h"
#include "core/vault/notes.h"

enum {
	NAMED = 5, /* maximum number of files that a fault names */
	NAMES_ROOM = 100, /* maximum number of bytes of all these names together */
};

/* The folders and notes that a call would remove. The memory belongs to the call's arena. */
struct removal {
	struct folder {
		const char *name, *path;
		const char *goes; /* folder that goes to the trash; NULL: `path` goes to
				     the trash */
		const char *stamp; /* argument `stamp` of work_look(), or NULL */
		int64_t since;
		int64_t parent; /* workspace of which this is a copy, or 0 */
		bool brought_back; /* the workspace was restored from the trash */
		bool is_vm;
	} * folders;
	size_t n, worked;
	size_t kept, large; /* numbers of folders that fit into the trash, and of folders
			       that do not fit */
	bool hostless; /* no host runs, so the next host removes the files */
	const char *says; /* text for the fault, or NULL for the usual text */
	/* Folders of the vault that are removed, too. All these folders are in the folder
	 * teams/. The last folder belongs to the highest team. */
	const char **purged;
	size_t n_purged;
	/* `notes` counts a person's notes in the vault, and `files` counts the changed files in
	 * workspaces. */
	size_t notes, files;
	int64_t note_bytes; /* bytes of a person's notes in the current folder */
	size_t notes_kept, notes_large; /* like `kept` and `large`, for notes */
	const char *inside; /* name of the current folder, with a slash at the end */
	struct names {
		const char *text; /* the first few names; NULL: no name yet */
		size_t named; /* number of names; NAMED + 1 if the list ends with `…` */
		const char *folder; /* last folder in the list of names, or NULL */
	} note_names, file_names;
	/* If a team ends: the team, and the numbers of things that end with the team and the teams
	 * below. `mail` counts the messages that the operator has not read. */
	const char *team; /* NULL: no team ends */
	int64_t members; /* number of members of `team` alone */
	const char *below; /* names of the teams below, or NULL */
	size_t n_below;
	int64_t open, held, mail;
	struct held {
		const char *team, *name;
	} * held_names; /* the first held tasks of each team */
	size_t n_held_names;
	const char *mail_names; /* the first message, or NULL */
};

/* Returns the path of a workspace's files on this machine. */
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

/* The files that a workspace began with count as work, too, if no other copy of these files
 * exists. There is no other copy if the workspace was restored from the trash, or if the parent
 * is destroyed. */
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

static bool holds_work(const struct workspace_row *w)
{
	/* No operation removes the files of an attached guest, which are on another machine. No
	 * operation removes a person's folder. */
	return w->state != WORKSPACE_STATE_DESTROYED &&
	       w->backend != BACKEND_KIND_ATTACH && w->backend != BACKEND_KIND_FOLDER;
}

int removal_add(struct call *call, const struct workspace_row *w)
{
	size_t from = call->removal->n;

	if (holds_work(w))
		workspace_removal_add(call, w);
	return add_beginnings(call, from);
}

int removal_add_restore(struct call *call, const struct workspace_row *w)
{
	struct folder *f = workspace_removal_add(call, w);
	struct snapshot_row s;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, snapshot_lines, &s, .workspace = w->id)) > 0)
		if (s.state == SNAPSHOT_STATE_READY && s.created_at > f->since)
			f->since = s.created_at;
	call->removal->says =
		arena_printf(&call->arena,
			     "this would replace the work done in %s since its last "
			     "snapshot",
			     f->name);
	return rc;
}

void removal_add_snapshot(struct call *call, const struct workspace_row *w,
			  const struct snapshot_row *s)
{
	struct folder *f = workspace_removal_add(call, w);

	if (!f->is_vm)
		f->goes = arena_printf(
			&call->arena, "%s/snapshots/%s/%s", call->settings->home,
			id_public(call, ID_WORKSPACE, w->id, w->created_at),
			id_public(call, ID_SNAPSHOT, s->id, s->created_at));
	/* If the workspace was put back to another snapshot later, this must count as a change.
	 * So no stamp is used. */
	f->stamp = NULL;
	f->since = s->created_at;
	call->removal->says =
		arena_printf(&call->arena,
			     "snapshot %s is the only copy of what %s held when it "
			     "was made; the workspace has changed since then",
			     s->name, f->name);
}

enum { TASKS = 2 }; /* maximum number of held tasks that a fault names */

/* Returns the name of a task or a message, such as `001 Test it (coder)`. */
static const char *hand_name(struct call *call, const char *name, const char *of,
			     const char *text)
{
	enum { WORDS = 32 };
	int64_t size;
	const char *words = space_cut(call, text, WORDS, &size);

	return arena_printf(&call->arena, "%s %.*s%s (%s)", name,
			    (int)strcspn(words, "\r\n"), words, size ? "…" : "", of);
}

/* Names the first tasks that the team's agents hold, and the first message that the operator has
 * not read. */
static int hands_name(struct call *call, int64_t team)
{
	struct removal *l = call->removal;
	struct team_held_row t;
	struct team_unread_row m = { 0 };
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, team_held, &t, .team = team, .now = call->now,
			      .limit = TASKS)) > 0) {
		struct held *held = arena_push(&call->arena, &l->held_names,
					       &l->n_held_names, sizeof(*held));

		held->team = l->team;
		held->name =
			hand_name(call, task_name(call, t.number), t.owner_name, t.title);
	}
	if (rc >= 0 && !l->mail_names &&
	    (rc = sql_row(call, team_unread, &m, .team = team, .limit = 1)) > 0)
		l->mail_names = hand_name(
			call, arena_printf(&call->arena, "#%" PRId64, m.message),
			m.sender_name, m.content);
	return rc < 0 ? rc : 0;
}

/* Counts the things that end with the caller's team. Teams come from the lowest up, so a team that
 * came before is below. */
static int count_hands(struct call *call, int64_t team)
{
	struct removal *l = call->removal;
	struct team_hands_row hands = { 0 };
	int rc = sql_row(call, team_hands, &hands, .team = team, .now = call->now);

	if (rc < 0)
		return rc;
	if (l->team) {
		l->below = arena_printf(&call->arena, "%s (%" PRId64 ")%s%s", l->team,
					l->members, l->below ? ", " : "",
					l->below ? l->below : "");
		l->n_below++;
	}
	l->team = call->caller.team_name;
	l->members = hands.members;
	l->open += hands.open;
	l->held += hands.held;
	l->mail += hands.mail;
	return hands.held || hands.mail ? hands_name(call, team) : 0;
}

int removal_add_team(struct call *call, int64_t team, const char *purged)
{
	struct removal *l = call->removal;
	size_t from = l->n;
	struct workspace_row w;
	struct query q = { 0 };
	int rc = count_hands(call, team);

	if (rc < 0)
		return rc;
	if (purged)
		arena_add(&call->arena, l->purged, l->n_purged,
			  arena_printf(&call->arena, "teams/%s", purged));
	while ((rc = sql_each(call, &q, workspace_lines, &w, .team = team)) > 0)
		if (holds_work(&w))
			workspace_removal_add(call, &w);
	return rc < 0 ? rc : add_beginnings(call, from);
}

/* --- what is lost ------------------------------------------------------------------- */

/* Adds a name to the list. If the name does not fit and `close` is set, the list ends with `…`.
 * Returns true if the name fits. */
static bool name_add(struct call *call, struct names *l, const char *folder,
		     const char *path, bool close)
{
	const char *so_far = l->text ? l->text : "";
	bool fits = l->named < NAMED &&
		    strlen(so_far) + strlen(folder) + strlen(path) <= NAMES_ROOM;

	if (fits || (close && l->named <= NAMED)) {
		l->named = fits ? l->named + 1 : NAMED + 1;
		l->text = arena_printf(&call->arena, "%s%s%s%s", so_far,
				       *so_far ? ", " : "", fits ? folder : "…",
				       fits ? path : "");
	}
	return fits;
}

/* Adds a file's name to the list if the list has room. At the end of a full list, `…` stands
 * for the files that are not named. If a file's name is too long for the list, names the file's
 * folder instead, but only once. */
static void name_file(struct call *call, struct names *l, const char *folder,
		      const char *path)
{
	bool full = l->named >= NAMED, again = l->folder && !strcmp(l->folder, folder);

	if (name_add(call, l, folder, path, full) || full || again)
		return;
	name_add(call, l, folder, "…", true);
	l->folder = folder;
}

static void count_file(void *with, const char *path)
{
	struct call *call = with;
	struct removal *l = call->removal;

	if (!strncmp(path, ".git/", 5) || strstr(path, "/.git/"))
		return; /* git wrote this file, not a person or an agent */
	l->files++;
	name_file(call, &l->file_names, l->inside, path);
}

/* Counts the changed files in the folders. The files on a VM's disk cannot be read, so each
 * disk counts as work. If work was done in a folder but no file can be named, the folder is
 * named. No file can be named if files were only removed, or if git wrote all changed files. */
static void workspace_removal_look(struct call *call, struct removal *l)
{
	int64_t most = settings_trash_bytes(call->settings);

	for (size_t i = 0; i < l->n; i++) {
		const struct folder *f = &l->folders[i];
		size_t before = l->files;
		bool worked = f->is_vm;
		int64_t bytes;

		l->inside = arena_printf(&call->arena, "%s/", f->name);
		bytes = call->settings->look_at_work(f->path, f->stamp, f->since,
						     f->is_vm ? NULL : count_file, call,
						     f->is_vm ? NULL : &worked);
		if (f->goes)
			bytes = call->settings->look_at_work(f->goes, NULL, 0, NULL, NULL,
							     NULL);
		l->kept += bytes && bytes <= most;
		l->large += most && bytes > most;
		l->worked += worked;
		if (worked && l->files == before)
			name_add(call, &l->file_names, f->name, f->is_vm ? " (a VM)" : "",
				 true);
	}
}

static int count_note(void *with, const struct note_entry *entry, struct fault *f)
{
	struct call *call = with;
	int rc = vault_is_persons(call->settings->notes, entry, f);

	if (rc < 0)
		return rc;
	call->removal->notes += (size_t)rc;
	call->removal->note_bytes += rc ? entry->stamp.size : 0;
	if (rc) {
		const char *name = strchr(entry->path, '/') + 1,
			   *inside = name + strcspn(name, "/") + 1;

		name_file(call, &call->removal->note_names,
			  arena_strndup(&call->arena, name, (size_t)(inside - name)),
			  inside);
	}
	return entry->folder ? NOTES_ENTER : NOTES_PASS;
}

/* Counts the notes of persons in the folders that would be purged. */
static int look_into_vault(struct call *call, struct removal *l)
{
	const struct notes *notes = call->settings->notes;
	int64_t most = settings_trash_bytes(call->settings);
	int rc = 0;

	for (size_t i = 0; notes && rc >= 0 && i < l->n_purged; i++) {
		size_t before = l->notes;

		l->note_bytes = 0;
		rc = notes->walk(notes->self, l->purged[i], NULL, count_note, call,
				 &call->fault);
		l->notes_kept += l->notes > before && most && l->note_bytes <= most;
		l->notes_large += most && l->note_bytes > most;
	}
	return rc;
}

/* --- words --------------------------------------------------------------------------- */

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

static const char *large_that_go(struct call *call, const struct removal *l)
{
	return l->large ? arena_printf(
				  &call->arena,
				  "; %zu folder%s larger than workspace.trash_mb would "
				  "be removed for good",
				  l->large, l->large == 1 ? "" : "s")
			: "";
}

static const char *notes_that_go(struct call *call, const struct removal *l)
{
	const char *work = l->worked ? arena_printf(&call->arena,
						    ", and work in %zu workspace%s%s",
						    l->worked, plural(l->worked),
						    large_that_go(call, l))
				     : "";

	return arena_printf(
		&call->arena,
		"%zu note%s of the vault's folder%s %s would be removed%s (%s)%s",
		l->notes, plural(l->notes), plural(l->n_purged),
		l->n_purged > 1 ? "teams/" : l->purged[0],
		l->notes_kept ? "" : " for good", l->note_names.text, work);
}

static const char *work_that_goes(struct call *call, const struct removal *l)
{
	struct arena *a = &call->arena;
	const char *what = l->says ? l->says
				   : arena_printf(a,
						  "%zu workspace%s would go, %zu with "
						  "work that was done there",
						  l->n, plural(l->n), l->worked);

	what = arena_printf(a, "%s%s", what, large_that_go(call, l));
	return l->files ? arena_printf(a, "%s: %zu file%s (%s)", what, l->files,
				       plural(l->files), l->file_names.text)
			: arena_printf(a, "%s: %s", what, l->file_names.text);
}

/* Returns the names of the first held tasks: first those of the team, then those of the teams
 * below, with the names of their teams. */
static const char *hands_held(struct call *call, const struct removal *l)
{
	struct arena *a = &call->arena;
	const char *names = "";
	int64_t n = 0;

	for (int below = 0; below < 2; below++)
		for (size_t i = 0; i < l->n_held_names && n < TASKS; i++) {
			const struct held *held = &l->held_names[i];

			if ((strcmp(held->team, l->team) != 0) != below)
				continue;
			names = arena_printf(a, "%s%s%s%s%s", names, n++ ? ", " : ": ",
					     below ? held->team : "", below ? "/" : "",
					     held->name);
		}
	return arena_printf(a, "%s%s", names, n < l->held ? ", …" : "");
}

/* Says which teams would end, and what would end with these teams. `named`: whether the text names
 * the teams below, the first tasks and the first message. */
static const char *hands(struct call *call, const struct removal *l, bool named)
{
	struct arena *a = &call->arena;
	const char *text = arena_printf(a, "team %s (%" PRId64 " member%s)", l->team,
					l->members, plural((size_t)l->members));

	if (l->n_below)
		text = arena_printf(a, "%s and %zu team%s below%s%s%s", text, l->n_below,
				    plural(l->n_below), named ? ", " : "",
				    named ? l->below : "", named ? "," : "");
	text = arena_printf(a, "%s would be destroyed", text);
	if (l->open)
		text = arena_printf(a, "%s: %" PRId64 " open task%s cancelled", text,
				    l->open, l->open == 1 ? " is" : "s are");
	if (l->held)
		text = arena_printf(a, "%s, %" PRId64 " of them held%s", text, l->held,
				    named ? hands_held(call, l) : "");
	if (l->mail)
		text = arena_printf(
			a, "%s; the operator has not read %" PRId64 " message%s%s%s%s",
			text, l->mail, plural((size_t)l->mail), named ? ": " : "",
			named ? l->mail_names : "", named && l->mail > 1 ? ", …" : "");
	return text;
}

/* Refuses a call that would lose work. The fault says how much work and whose work. */
static int workspace_removal_refuse(struct call *call, const struct removal *l)
{
	int64_t days = call->settings->config.workspace_keep_days;
	const char *work = l->notes    ? notes_that_go(call, l)
			   : l->worked ? work_that_goes(call, l)
				       : "",
		   *held = l->team ? hands(call, l, true) : "";

	if (*held &&
	    strlen(work) + strlen(held) + sizeof("; ") > sizeof(call->fault.text))
		held = hands(call, l, false);

	fault_set(&call->fault, FAULT_CONFLICT, "/confirm", "%s%s%s", held,
		  *work && *held ? "; " : "", work);
	if (!*work)
		return fault_hint(&call->fault,
				  "Add {confirm=true|--yes} to do it. Tasks are "
				  "cancelled; messages stay as rows.");
	work = l->notes ? " Without purge the folder is archived." : "";
	return l->kept || l->notes_kept
		       ? fault_hint(
				 &call->fault,
				 "Add {confirm=true|--yes} to do it. The kept files can "
				 "be brought back for %" PRId64
				 " days{ by the operator|}: "
				 "cadre undo.%s",
				 days, work)
		       : fault_hint(
				 &call->fault,
				 "Add {confirm=true|--yes} to do it. This cannot be undone.%s",
				 work);
}

const char *removal_tell(struct call *call)
{
	const struct removal *l = call->removal;
	struct arena *a = &call->arena;
	const char *text = "";
	char until[25];

	if (!l)
		return NULL;
	time_format(call->now + settings_keep_ms(call->settings), until);
	if (l->kept)
		text = arena_printf(
			a,
			"the files of %zu workspace%s are kept until %.10s, or "
			"until the trash needs the room: cadre undo",
			l->kept, plural(l->kept), until);
	if (l->large)
		text = arena_printf(a,
				    "%s%sthe files of %zu workspace%s are larger than "
				    "workspace.trash_mb and are removed for good",
				    text, *text ? "; " : "", l->large, plural(l->large));
	if (l->notes_kept)
		text = arena_printf(a,
				    "%s%sthe notes are kept until %.10s at the latest%s: "
				    "cadre undo %s/",
				    text, *text ? "; " : "", until,
				    l->notes_large ? ", unless they are larger "
						     "than workspace.trash_mb"
						   : "",
				    l->purged[l->n_purged - 1]);
	if (l->hostless && l->n)
		text = arena_printf(
			a,
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

/* Plans the removal, and looks for work in the planned folders. Returns 0 if the removal may
 * begin, or a fault. Returns 1 if an earlier call with the same key has already removed the
 * folders. */
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
		rc = look_into_vault(call, l);
		workspace_removal_look(call, l);
	}
	if (rc >= 0 && !is_confirmed(call) &&
	    (l->worked || l->notes || l->n_below || l->open || l->mail))
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
