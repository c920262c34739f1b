#include "core/mirror/mirror_show.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/mirror/mirror.h"
#include "core/mirror/mirror_file.h"
#include "core/vault/vault.h"
#include "core/vault/vault_trash.h"

/* Moves and removes folders of teams while nobody works in them. */

/* Locks the folder teams/FROM exclusively, and also teams/TO unless `to` is NULL. While the
 * lock is held, no operation works on a note in a locked folder. If a process recorded a change
 * of a note in FROM and died before it made the change, makes this change. Sets *lock, the
 * argument of show_let_go(), even on failure. Returns 0 or a negative fault code. */
static int show_hold(struct mirror_show *s, const char *from, const char *to, int *lock)
{
	const struct notes *notes = s->call.settings ? s->call.settings->notes : NULL;
	int rc;

	*lock = -1;
	if (!notes)
		return 0;
	rc = *lock = notes->lock_teams(notes->self, from, to, true, &s->call.fault);
	return rc < 0 ? rc : vault_make_in(&s->call, from);
}

/* Releases the lock of show_hold(). If `lock` is negative, there is no lock to release. */
static void show_let_go(struct mirror_show *s, int lock)
{
	if (lock >= 0)
		s->call.settings->notes->unlock(s->call.settings->notes->self, lock);
}

/* Moves the folder teams/TEAM to `path`, or to PATH-2 and so on if `path` is taken. If `to` is
 * not NULL, `path` is teams/TO. Holds the lock of show_hold() during the move. Returns 0 or a
 * negative fault code. */
static int show_move(struct mirror_show *s, const char *team, const char *path,
		     const char *to)
{
	char folder[FILES_PATH];
	int lock, rc = show_hold(s, team, to, &lock);

	team_folder(team, "", folder);
	if (rc >= 0)
		rc = files_move(&s->files, folder, path, &s->call.fault);
	show_let_go(s, lock);
	return rc;
}

/* --- a folder of people ------------------------------------------------------------------ */

struct join {
	struct files *files;
	int from, to; /* descriptors of the two folders */
};

static int join_each(void *with, const char *name)
{
	const struct join *j = with;

	if (renameat2(j->from, name, j->to, name, RENAME_NOREPLACE) == 0)
		return 0;
	return errno == EEXIST ? files_keep(j->files, j->from, name, j->to, name) : -1;
}

static int join_folders(struct files *fs, const char *from, const char *to,
			struct fault *f)
{
	struct join j = { .files = fs, .to = files_folder(fs, to, false) };
	int rc = -1;

	j.from = files_folder(fs, from, false);
	if (j.from >= 0 && j.to >= 0)
		rc = files_list_open(j.from, join_each, &j);
	if (rc == 0 && unlinkat(fs->root, from, AT_REMOVEDIR) < 0)
		rc = -1;
	if (rc < 0)
		files_fault(f, "join the folder", from);
	fs->made = true;
	files_forget(fs);
	return rc < 0 ? f->code : 0;
}

/* Moves people's files from the folder teams/NAME, which belongs to no team, into the folder of
 * `team`, and removes teams/NAME. If a file's name is taken in the team's folder, the file gets
 * `.conflict` in its name. */
static int show_join(struct mirror_show *s, const char *name, const char *team)
{
	char from[FILES_PATH], to[FILES_PATH];
	int lock, rc = show_hold(s, name, team, &lock);

	team_folder(name, "", from);
	team_folder(team, "", to);
	if (rc >= 0)
		rc = join_folders(&s->files, from, to, &s->call.fault);
	show_let_go(s, lock);
	return rc;
}

/* The notes of a purged team, whose folder is destroyed together with the team. */

struct found {
	const struct notes *notes;
	struct arena *arena;
	const char **pages; /* paths of the mirror's pages, without `summary` */
	size_t n_pages, n_kept; /* numbers of pages, and of files with a person's words */
	int64_t bytes; /* total size of the files with a person's words */
	const char *summary; /* path of TEAM.md, which shows that the folder is the
				team's */
};

static int mirror_purge_look_at(void *with, const struct note_entry *e, struct fault *f)
{
	struct found *found = with;
	int rc = vault_is_persons(found->notes, e, f);

	if (rc < 0 || e->folder)
		return rc < 0 ? rc : NOTES_ENTER;
	found->n_kept += (size_t)rc;
	found->bytes += rc ? e->stamp.size : 0;
	if (vault_is_mirrored(e->path) && strcmp(e->path, found->summary) != 0)
		arena_add(found->arena, found->pages, found->n_pages,
			  arena_strdup(found->arena, e->path));
	return NOTES_PASS;
}

/* Removes a page of the mirror. A person's edit of the page is kept. */
static int drop_page(struct mirror_show *s, const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	const char *folder =
		arena_strndup(&s->call.arena, path, (size_t)(name - 1 - path));

	return files_drop(&s->files, folder, name, &s->call.fault);
}

/* Moves the notes in a team's folder to the vault's trash. The folder keeps the team's summary
 * until the folder is moved. If this process dies before the move, the next process finds the
 * team in the summary, and continues. */
static int move_notes(struct mirror_show *s, const char *folder,
		      const struct mirror_team_row *team, const struct found *found)
{
	struct arena *a = &s->call.arena;
	struct fault *f = &s->call.fault;
	const struct vault_trash as = { NULL, team->destroyed_at, found->bytes, team->id,
					team->created_at };
	const char *to = vault_trash_place(a, &as, folder);
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < found->n_pages; i++)
		rc = drop_page(s, found->pages[i]);
	if (rc < 0 || (rc = files_move(&s->files, folder, to, f)) < 0)
		return rc;
	files_drop(&s->files, to, "TEAM.md", f);
	vault_trash_trim(&s->call);
	return f->code;
}

static int purge(struct mirror_show *s, const char *folder,
		 const struct mirror_team_row *team)
{
	const struct notes *notes = s->call.settings->notes;
	struct found found = {
		.notes = notes,
		.arena = &s->call.arena,
		.summary = arena_printf(&s->call.arena, "%s/TEAM.md", folder),
	};
	int rc = files_open_up(&s->files, folder, &s->call.fault);

	if (rc >= 0)
		rc = notes->walk(notes->self, folder, NULL, mirror_purge_look_at, &found,
				 &s->call.fault);
	if (rc >= 0 && found.n_kept &&
	    found.bytes <= settings_trash_bytes(s->call.settings))
		rc = move_notes(s, folder, team, &found);
	else if (rc >= 0)
		rc = files_purge(&s->files, folder, &s->call.fault);
	return rc < 0 ? rc : 0;
}

/* Moves the notes of a purged team's folder into the vault's trash, or removes the notes if the
 * trash may not keep them. Removes the mirror's pages. */
static int show_purge(struct mirror_show *s, const struct mirror_team_row *team)
{
	struct arena_mark mark = arena_mark(&s->call.arena);
	char folder[FILES_PATH];
	int lock, rc = show_hold(s, team->name, NULL, &lock);

	team_folder(team->name, "", folder);
	if (rc >= 0)
		rc = purge(s, folder, team);
	show_let_go(s, lock);
	arena_reset(&s->call.arena, mark);
	return rc;
}

enum { CHUNK = 256 }; /* maximum number of tasks in memory */

static int mirror_show_begin(struct mirror_show *s, struct mirror_head_row *head)
{
	struct mirror_head_row own;
	int rc = store_begin(s->call.store, false, &s->call.fault);

	if (rc < 0)
		return rc;
	rc = sql_row(&s->call, mirror_head, head ? head : &own);
	if (rc < 0) {
		show_end(s);
		return rc;
	}
	s->rev = head ? head->newest : own.newest;
	return 0;
}

static int move_renamed(struct mirror_show *s, const struct mirror_renames_row *rows,
			size_t n)
{
	int rc;

	s->ahead = false;
	rc = files_commit(&s->files, &s->call.fault);
	for (size_t i = 0; rc >= 0 && i < n; i++)
		rc = show_renamed(s, rows[i].team, rows[i].was);
	s->ahead = true;
	return rc;
}

/* Moves the folders of renamed teams. Returns 1 if the transaction was ended for the moves, 0
 * if no team was renamed, or a fault code. */
static int look_ahead(struct mirror_show *s)
{
	struct mirror_renames_row *rows = NULL;
	const int64_t rev = s->rev;
	size_t n = 0;
	int rc = sql_all(&s->call, mirror_renames, &rows, &n, .after = s->moved,
			 .upto = rev);

	if (rc < 0 || n > 0)
		show_end(s);
	if (rc >= 0 && n > 0)
		rc = move_renamed(s, rows, n);
	if (rc < 0)
		return rc;
	s->moved = rev;
	return n > 0;
}

int show_begin(struct mirror_show *s, struct mirror_head_row *head)
{
	int rc;

	do {
		rc = mirror_show_begin(s, head);
		if (rc < 0 || !s->ahead || s->rev <= s->moved)
			return rc;
	} while ((rc = look_ahead(s)) > 0);
	return rc;
}

void show_end(struct mirror_show *s)
{
	store_rollback(s->call.store);
}

void team_folder(const char *team, const char *below, char out[FILES_PATH])
{
	snprintf(out, FILES_PATH, *below ? "teams/%.90s/%s" : "teams/%.90s", team, below);
}

static int mirror_show_put(struct mirror_show *s, const char *team, const char *below,
			   const char *name)
{
	char folder[FILES_PATH];

	team_folder(team, below, folder);
	return files_put(&s->files, folder, name, &s->page, s->rev, &s->call.fault);
}

/* --- tasks and cards --------------------------------------------------------------- */

static int show_task_chunk(struct mirror_show *s, const char *ids, int64_t ended)
{
	struct task_view *views;
	size_t n;
	char name[128];
	int rc = show_begin(s, NULL);

	if (rc < 0)
		return rc;
	rc = view_tasks(&s->call, ids, &views, &n);
	show_end(s);
	for (size_t i = 0; rc >= 0 && i < n; i++) {
		const struct mirror_tasks_row *row = &views[i].row;

		if (row->destroyed_at && row->team != ended)
			continue;
		render_task(&views[i], &s->page);
		task_file_name(row->number, row->slug, name);
		rc = mirror_show_put(s, row->team_name, "tasks", name);
	}
	return rc;
}

/* Shows tasks. Tasks of a destroyed team are shown only if `ended` is the team's row. The
 * caller sets `ended` when the team's folder is about to be archived. */
static int show_some_tasks(struct mirror_show *s, const struct ids *tasks, int64_t ended)
{
	struct arena_mark mark = arena_mark(&s->call.arena);
	int rc = 0;

	for (size_t at = 0; rc >= 0 && at < tasks->n; at += CHUNK) {
		size_t n = tasks->n - at < CHUNK ? tasks->n - at : CHUNK;

		rc = show_task_chunk(s, ids_json(tasks, at, n, &s->call.arena), ended);
		arena_reset(&s->call.arena, mark);
	}
	return rc;
}

int show_tasks(struct mirror_show *s, const struct ids *tasks)
{
	return show_some_tasks(s, tasks, 0);
}

int show_agents(struct mirror_show *s, const struct ids *agents)
{
	struct arena_mark mark = arena_mark(&s->call.arena);
	const enum files_spare spare = s->files.spare;
	struct agent_view *views;
	char name[128];
	size_t n;
	int rc;

	if (agents->n == 0)
		return 0;
	if ((rc = show_begin(s, NULL)) < 0)
		return rc;
	rc = view_agents(&s->call, ids_json(agents, 0, agents->n, &s->call.arena), &views,
			 &n);
	show_end(s);
	if (spare == SPARE_NOTHING && !s->over_texts)
		s->files.spare = SPARE_TEXTS;
	for (size_t i = 0; rc >= 0 && i < n; i++) {
		const struct mirror_agents_row *row = &views[i].row;

		if (row->destroyed_at || row->kind != AGENT_KIND_MEMBER)
			continue;
		if (row->gone) {
			ids_add(&s->sweep, row->team);
			continue;
		}
		render_card(&views[i], &s->page);
		snprintf(name, sizeof(name), "%.64s.json", row->name);
		rc = mirror_show_put(s, row->team_name, "cards", name);
	}
	s->files.spare = spare;
	arena_reset(&s->call.arena, mark);
	return rc;
}

/* --- names in a folder ------------------------------------------------------------ */

struct names {
	char **v; /* sorted after all names were read */
	size_t n;
	struct arena *arena;
};

static int mirror_show_add_name(void *with, const char *name)
{
	struct names *names = with;
	char **place = arena_push(names->arena, &names->v, &names->n, sizeof(*place));

	*place = arena_strdup(names->arena, name);
	return 0;
}

static int mirror_show_compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool mirror_show_has_name(const struct names *names, const char *name)
{
	return names->n > 0 && bsearch(&name, names->v, names->n, sizeof(*names->v),
				       mirror_show_compare_names);
}

static bool folder_exists(struct mirror_show *s, const char *team)
{
	struct names found = { .arena = &s->call.arena };
	char folder[FILES_PATH];

	team_folder(team, "", folder);
	return files_list(&s->files, folder, mirror_show_add_name, &found,
			  &s->call.fault) == 0 &&
	       found.n > 0;
}

/* --- teams ---------------------------------------------------------------------------- */

int64_t team_folder_row(struct mirror_show *s, const char *team)
{
	char folder[FILES_PATH];
	int rc;

	team_folder(team, "", folder);
	rc = files_read(&s->files, folder, "TEAM.md", &s->files.old, &s->call.fault);
	if (rc <= 0)
		return rc;
	return page_number(s->files.old.data, s->files.old.len, "row: ");
}

/* Moves the folder "teams/TEAM" to the archive, under a name that contains the day of the time
 * `at`. */
static int show_archive(struct mirror_show *s, const char *team, int64_t at)
{
	char archive[FILES_PATH], day[25];

	time_format(at, day);
	snprintf(archive, sizeof(archive), "teams/.archive/%.64s-%.10s", team, day);
	if (show_move(s, team, archive, NULL) < 0)
		return s->call.fault.code;
	if (s->aside && s->files.moved[0])
		arena_add(&s->aside->arena, s->aside->folders, s->aside->n,
			  arena_strdup(&s->aside->arena, s->files.moved));
	return 0;
}

/* Returns 1 if the folder `name` belongs to another team, 0 if it does not, or a fault code. A
 * new team can get the name of an ended team before the mirror has read the end of that team in
 * the log. */
static int show_is_anothers(struct mirror_show *s, const char *name, int64_t team)
{
	int64_t has = team_folder_row(s, name);

	return has < 0 ? (int)has : has && has != team;
}

/* Stages a team's TEAM.md and, if `board` is set, the team's INDEX.md. Stages no file if the
 * folder with the team's name belongs to another team. show_team() moves the other team's
 * folder away. */
static int put_summary(struct mirror_show *s, int64_t team, bool board, bool ended)
{
	struct arena_mark mark = arena_mark(&s->call.arena);
	struct team_view view;
	struct board_view tasks;
	int rc = show_begin(s, NULL);

	if (rc < 0)
		return rc;
	rc = view_team(&s->call, team, &view);
	if (rc > 0 && view.row.destroyed_at && !ended)
		rc = 0;
	if (rc > 0 && board && view_board(&s->call, &view.row, &tasks) < 0)
		rc = s->call.fault.code;
	show_end(s);
	if (rc > 0 && (rc = show_is_anothers(s, view.row.name, team)) == 0) {
		render_team(&view, &s->page);
		rc = mirror_show_put(s, view.row.name, "", "TEAM.md");
		if (rc >= 0 && board) {
			render_board(&tasks, &s->page);
			rc = mirror_show_put(s, view.row.name, "tasks", "INDEX.md");
		}
	}
	arena_reset(&s->call.arena, mark);
	return rc < 0 ? rc : 0;
}

int show_summary(struct mirror_show *s, int64_t team)
{
	return put_summary(s, team, true, false);
}

static int tasks_of(struct mirror_show *s, int64_t team, struct ids *out)
{
	struct mirror_tasks_of_row row;
	struct query q = { 0 };
	int rc = show_begin(s, NULL);

	if (rc < 0)
		return rc;
	while ((rc = sql_each(&s->call, &q, mirror_tasks_of, &row, .team = team)) > 0)
		ids_add(out, row.id);
	show_end(s);
	return rc;
}

/* Archives the folder of a destroyed team after the team's last state was written, or purges
 * the folder. */
static int show_end_team(struct mirror_show *s, const struct mirror_team_row *team)
{
	struct ids tasks = { 0 };
	int rc;

	if (team->purge)
		return show_purge(s, team);
	if ((rc = tasks_of(s, team->id, &tasks)) >= 0 &&
	    (rc = show_some_tasks(s, &tasks, team->id)) >= 0 &&
	    (rc = put_summary(s, team->id, true, true)) >= 0 &&
	    (rc = files_commit(&s->files, &s->call.fault)) >= 0)
		rc = show_archive(s, team->name, team->destroyed_at);
	ids_release(&tasks);
	return rc;
}

/* Reads a team in a separate transaction. Returns 1 if the team was read, 0 if there is no such
 * team, or a fault code. */
static int show_read_team(struct mirror_show *s, int64_t team,
			  struct mirror_team_row *row)
{
	int rc = show_begin(s, NULL);

	if (rc < 0)
		return rc;
	rc = sql_row(&s->call, mirror_team, row, .id = team);
	show_end(s);
	return rc;
}

/* Moves a folder of another team away from teams/NAME. The folder of a destroyed team is
 * archived or purged. Any other folder is from a state that was replaced, or is a person's
 * copy, and is archived. The folders of living teams were already moved to the teams' own
 * names. */
static int clear_place(struct mirror_show *s, const char *name, int64_t there)
{
	struct mirror_team_row row;
	int rc = show_read_team(s, there, &row);

	if (rc > 0 && row.destroyed_at && strcmp(row.name, name) == 0)
		return show_end_team(s, &row);
	return rc < 0 ? rc : show_archive(s, name, s->call.now);
}

int show_team(struct mirror_show *s, int64_t team)
{
	struct mirror_team_row row;
	int64_t has;
	int rc = show_read_team(s, team, &row);

	if (rc <= 0)
		return rc;
	if ((has = team_folder_row(s, row.name)) < 0)
		return (int)has;
	if (row.destroyed_at) {
		if (has == team ||
		    (has == 0 && !row.followed && folder_exists(s, row.name)))
			return show_end_team(s, &row);
		return 0;
	}
	if (has != 0 && has != team && (rc = clear_place(s, row.name, has)) < 0)
		return rc;
	if (has == 0 && folder_exists(s, row.name))
		ids_add(&s->sweep, team);
	return put_summary(s, team, false, false);
}

/* --- files without a row ----------------------------------------------------------------- */

/* Removes the mirror's own files from a folder, except the files whose names are in `expected`.
 * Files that people put into the folder stay. A person's file in the place of a card is handled
 * like any saved card. */
static int sweep_folder(struct mirror_show *s, const char *team, const char *below,
			struct names *expected)
{
	struct names found = { .arena = &s->call.arena };
	struct text *old = &s->files.old;
	char folder[FILES_PATH];
	int rc;

	if (expected->n > 1)
		qsort(expected->v, expected->n, sizeof(*expected->v),
		      mirror_show_compare_names);
	team_folder(team, below, folder);
	rc = files_list(&s->files, folder, mirror_show_add_name, &found, &s->call.fault);
	for (size_t i = 0; rc >= 0 && i < found.n; i++) {
		const char *name = found.v[i];

		if (mirror_show_has_name(expected, name) || strlen(name) > 127)
			continue;
		rc = files_read(&s->files, folder, name, old, &s->call.fault);
		if (rc > 0 && page_sealed(old->data, old->len))
			rc = files_drop(&s->files, folder, name, &s->call.fault);
		else if (rc >= 0 && s->files.losses)
			losses_edited(s->files.losses, folder, name);
	}
	return rc < 0 ? rc : 0;
}

/* Lists the names of the files that show a team's tasks and agents. */
static int expect_names(struct mirror_show *s, int64_t team, struct names *tasks,
			struct names *cards)
{
	struct mirror_members_row member;
	struct mirror_slugs_row slug;
	struct query q;
	char name[128];
	int rc;

	mirror_show_add_name(tasks, "INDEX.md");
	sql_query(&s->call, &q, mirror_slugs, .team = team);
	while ((rc = sql_next(&s->call, &q, &slug)) > 0) {
		task_file_name(slug.number, slug.slug, name);
		mirror_show_add_name(tasks, name);
	}
	if (rc < 0)
		return rc;
	sql_query(&s->call, &q, mirror_members, .team = team, .gone = 0);
	while ((rc = sql_next(&s->call, &q, &member)) > 0) {
		snprintf(name, sizeof(name), "%.64s.json", member.name);
		mirror_show_add_name(cards, name);
	}
	return rc;
}

int show_sweep_team(struct mirror_show *s, int64_t team)
{
	struct arena_mark mark = arena_mark(&s->call.arena);
	struct names tasks = { .arena = &s->call.arena }, cards = tasks;
	struct mirror_team_row row;
	int rc = show_begin(s, NULL);

	if (rc < 0)
		return rc;
	rc = sql_row(&s->call, mirror_team, &row, .id = team);
	if (rc > 0 && row.destroyed_at)
		rc = 0;
	if (rc > 0 && expect_names(s, team, &tasks, &cards) < 0)
		rc = s->call.fault.code;
	show_end(s);
	if (rc > 0 && (rc = sweep_folder(s, row.name, "tasks", &tasks)) >= 0)
		rc = sweep_folder(s, row.name, "cards", &cards);
	arena_reset(&s->call.arena, mark);
	return rc;
}

/* --- rows without a file ------------------------------------------------------------------ */

/* All agents of a team, and at most `most` of the team's tasks. Only tasks whose files are
 * missing are listed. */
struct absent {
	int64_t team; /* 0 if the team does not exist any more */
	struct ids agents, tasks;
	size_t most;
};

/* Lists tasks whose files are missing. Returns 1 if there are more than a->most such tasks, 0
 * if all such tasks are listed, or a fault code. */
static int find_tasks(struct mirror_show *s, const struct names *found, struct absent *a)
{
	struct mirror_slugs_row slug;
	struct query q = { 0 };
	char name[128];
	int rc;

	while ((rc = sql_each(&s->call, &q, mirror_slugs, &slug, .team = a->team)) > 0) {
		task_file_name(slug.number, slug.slug, name);
		if (mirror_show_has_name(found, name))
			continue;
		if (a->tasks.n == a->most) {
			query_end(&q);
			return 1;
		}
		ids_add(&a->tasks, slug.id);
	}
	return rc;
}

static int find_absent(struct mirror_show *s, const char *name, const struct names *found,
		       struct absent *a)
{
	struct mirror_team_lives_row row;
	struct mirror_agents_of_row agent;
	struct query q;
	int rc = show_begin(s, NULL);

	if (rc < 0)
		return rc;
	rc = sql_row(&s->call, mirror_team_lives, &row, .name = name);
	if (rc <= 0)
		goto out;
	a->team = row.id;
	sql_query(&s->call, &q, mirror_agents_of, .team = row.id);
	while ((rc = sql_next(&s->call, &q, &agent)) > 0)
		ids_add(&a->agents, agent.id);
	if (rc >= 0)
		rc = find_tasks(s, found, a);
out:
	show_end(s);
	return rc;
}

int show_complete_team(struct mirror_show *s, const char *name, size_t most)
{
	struct arena_mark mark = arena_mark(&s->call.arena);
	struct names found = { .arena = &s->call.arena };
	struct absent a = { .most = most };
	char folder[FILES_PATH];
	int more = 0, rc;

	team_folder(name, "tasks", folder);
	rc = files_list(&s->files, folder, mirror_show_add_name, &found, &s->call.fault);
	if (rc < 0)
		goto out;
	if (found.n > 1)
		qsort(found.v, found.n, sizeof(*found.v), mirror_show_compare_names);
	rc = more = find_absent(s, name, &found, &a);
	if (rc < 0 || a.team == 0)
		goto out;
	if ((rc = show_agents(s, &a.agents)) >= 0 && (rc = show_tasks(s, &a.tasks)) >= 0)
		rc = show_summary(s, a.team);
out:
	ids_release(&a.agents);
	ids_release(&a.tasks);
	arena_reset(&s->call.arena, mark);
	return rc < 0 ? rc : more;
}

/* --- teams without a row -------------------------------------------------------------------- */

/* Archives the folder teams/NAME if the mirror made this folder and no team has the name now. */
static int mirror_show_sweep_one(struct mirror_show *s, const char *name)
{
	struct text *old = &s->files.old;
	struct mirror_team_lives_row row;
	char folder[FILES_PATH];
	int rc;

	team_folder(name, "", folder);
	rc = files_read(&s->files, folder, "TEAM.md", old, &s->call.fault);
	if (rc <= 0 || !page_sealed(old->data, old->len))
		return rc;
	if ((rc = show_begin(s, NULL)) < 0)
		return rc;
	rc = sql_row(&s->call, mirror_team_lives, &row, .name = name);
	show_end(s);
	return rc == 0 ? show_archive(s, name, s->call.now) : rc;
}

int show_sweep_folders(struct mirror_show *s)
{
	struct arena_mark mark = arena_mark(&s->call.arena);
	struct names found = { .arena = &s->call.arena };
	int rc = files_list(&s->files, "teams", mirror_show_add_name, &found,
			    &s->call.fault);

	for (size_t i = 0; rc >= 0 && i < found.n; i++)
		if (found.v[i][0] != '.' && strlen(found.v[i]) <= 64)
			rc = mirror_show_sweep_one(s, found.v[i]);
	arena_reset(&s->call.arena, mark);
	return rc < 0 ? rc : 0;
}

void show_release(struct mirror_show *s)
{
	files_close(&s->files);
	page_release(&s->page);
	ids_release(&s->sweep);
	arena_release(&s->call.arena);
}

/* Moves the folder of a team that was renamed. */

/* Returns the temporary name of a living team's folder, which is used until the team's own
 * folder name is free. */
static const char *aside(struct mirror_show *s, int64_t team)
{
	return arena_printf(&s->call.arena, ".moving-%" PRId64, team);
}

static int mirror_renamed_move_folder(struct mirror_show *s, const char *from,
				      const char *to)
{
	char path[FILES_PATH];

	team_folder(to, "", path);
	return show_move(s, from, path, to);
}

/* Frees the folder name `name`, so that the folder `was` of a renamed team can get this name.
 * `there` is the team whose folder now has the name `name`, or 0. The folder of an ended team
 * is archived or purged. The folder of a living team is moved aside, since the living team was
 * renamed too. The folder of a team without a row is archived. If the folder has no team,
 * people's files are moved into the folder `was`. Returns 1 if a team's folder was moved aside,
 * 0 if no folder was moved aside, or a fault code. */
static int mirror_renamed_make_room(struct mirror_show *s, const char *name,
				    int64_t there, const char *was)
{
	char folder[FILES_PATH];
	struct mirror_team_row row;
	int rc = there ? show_read_team(s, there, &row) : 0;

	/* If a living team also has a folder under its own name, the folder `name` is a
	 * person's copy. */
	if (rc > 0 && !row.destroyed_at && strcmp(row.name, name) != 0 &&
	    team_folder_row(s, row.name) == there) {
		rc = show_archive(s, name, s->call.now);
		return rc < 0 ? rc : 0;
	}
	if (rc > 0 && !row.destroyed_at) {
		rc = mirror_renamed_move_folder(s, name, aside(s, there));
		return rc < 0 ? rc : 1;
	}
	if (rc > 0)
		rc = show_end_team(s, &row);
	team_folder(name, "", folder);
	if (rc < 0 || !files_there(&s->files, folder))
		return rc < 0 ? rc : 0;
	rc = there || !files_is_folder(&s->files, folder)
		     ? show_archive(s, name, s->call.now)
		     : show_join(s, name, was);
	return rc < 0 ? rc : 0;
}

/* A folder that was moved aside is found by its temporary name, even after a crash. */
int show_renamed(struct mirror_show *s, int64_t team, const char *was)
{
	struct mirror_team_row row;
	int64_t has, there;
	int rc = show_read_team(s, team, &row);

	if (rc <= 0 || strcmp(row.name, was) == 0)
		return rc;
	if ((has = team_folder_row(s, was)) >= 0 && has != team)
		has = team_folder_row(s, was = aside(s, team));
	if (has != team)
		return has < 0 ? (int)has : 0;
	if ((there = team_folder_row(s, row.name)) < 0)
		return (int)there;
	if (there == team) /* a person made the folder, or the event was read twice */
		rc = show_archive(s, row.name, s->call.now);
	else
		rc = mirror_renamed_make_room(s, row.name, there, was);
	if (rc < 0)
		return rc;
	if (mirror_renamed_move_folder(s, was, row.name) < 0)
		return s->call.fault.code;
	return rc ? show_renamed(s, there, aside(s, there)) : 0;
}

/* --- renames without an event ------------------------------------------------------------- */

struct folder_names {
	struct arena *arena;
	const char *below; /* prefix of the names, either "" or ".archive/" */
	const char **v;
	size_t n;
};

enum { NAME_MOST = 90 }; /* maximum length of a folder name that team_folder() takes */

static int add_folder(void *with, const char *name)
{
	struct folder_names *names = with;

	if (strlen(names->below) + strlen(name) <= NAME_MOST)
		arena_add(names->arena, names->v, names->n,
			  arena_printf(names->arena, "%s%s", names->below, name));
	return 0;
}

/* Whether the page of a folder is about the team of `row`. The page was just read by
 * team_folder_row(). A team of another state may have had the same row number. */
static bool tells_of(struct mirror_show *s, const struct mirror_team_row *row)
{
	const struct text *page = &s->files.old;
	char made[25];

	time_format(row->created_at, made);
	return page_says(page->data, page->len,
			 arena_printf(&s->call.arena, "created_at: \"%s\"", made));
}

/* Whether the page was written for the folder `name`. The page in a copied folder was written
 * for another folder. In the archive, the page must say that the team is destroyed. */
static bool is_written_for(struct mirror_show *s, const char *name)
{
	const struct text *page = &s->files.old;

	if (strchr(name, '/'))
		return page_says(page->data, page->len, "state: destroyed");
	return page_says(page->data, page->len,
			 arena_printf(&s->call.arena, "team: \"%s\"", name));
}

static int find_renamed(struct mirror_show *s, const char *name, bool copies)
{
	int64_t team = team_folder_row(s, name);
	struct mirror_team_row row;
	int rc = team > 0 ? show_read_team(s, team, &row) : (int)team;

	if (rc <= 0 || row.destroyed_at || strcmp(row.name, name) == 0 ||
	    !tells_of(s, &row) || (!copies && !is_written_for(s, name)))
		return rc;
	if ((team = team_folder_row(s, row.name)) < 0)
		return (int)team;
	return team == row.id ? 0 : show_renamed(s, row.id, name);
}

static int mirror_renamed_find_in(struct mirror_show *s, const char *folder,
				  const char *below, bool copies)
{
	struct folder_names names = { .arena = &s->call.arena, .below = below };
	int rc = files_list(&s->files, folder, add_folder, &names, &s->call.fault);

	for (size_t i = 0; rc >= 0 && i < names.n; i++)
		rc = find_renamed(s, names.v[i], copies);
	return rc;
}

int show_find_renamed(struct mirror_show *s)
{
	struct arena_mark mark = arena_mark(&s->call.arena);
	int rc = mirror_renamed_find_in(s, "teams", "", false);

	if (rc >= 0)
		rc = mirror_renamed_find_in(s, "teams", "", true);
	if (rc >= 0)
		rc = mirror_renamed_find_in(s, "teams/.archive", ".archive/", false);
	arena_reset(&s->call.arena, mark);
	return rc < 0 ? rc : 0;
}
