/* mirror_purge - the notes of a team that is destroyed with its folder. */
#include <stdio.h>
#include <string.h>

#include "core/mirror/mirror_show.h"
#include "core/vault/vault.h"
#include "core/vault/vault_trash.h"

struct found {
	const struct notes *notes;
	struct arena *arena;
	const char **pages; /* of the mirror */
	size_t n_pages, n_kept; /* kept: files with a person's words */
	int64_t bytes; /* of those */
	const char *summary; /* the page by which the folder is known as the team's */
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
		*(const char **)arena_push(found->arena, &found->pages, &found->n_pages,
					   sizeof(e->path)) =
			arena_strdup(found->arena, e->path);
	return NOTES_PASS;
}

/* An edit of a page stays beside it. */
static int drop_page(struct mirror_show *s, const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	const char *folder =
		arena_strndup(&s->call.arena, path, (size_t)(name - 1 - path));

	return files_drop(&s->files, folder, name, &s->call.fault);
}

/* The team is known by its summary until its folder is moved, so that after a crash the
 * next one goes on. */
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

int show_purge(struct mirror_show *s, const struct mirror_team_row *team)
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
