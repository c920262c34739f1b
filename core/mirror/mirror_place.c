/* mirror_place - moves and removes folders of teams while nobody works in them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/mirror/mirror_file_inside.h"
#include "core/mirror/mirror_show.h"
#include "core/vault/vault.h"

int show_hold(struct mirror_show *s, const char *from, const char *to, int *lock)
{
	const struct notes *notes = s->call.settings ? s->call.settings->notes : NULL;
	int rc;

	*lock = -1;
	if (!notes)
		return 0;
	rc = *lock = notes->lock_teams(notes->self, from, to, true, &s->call.fault);
	return rc < 0 ? rc : vault_make_in(&s->call, from);
}

void show_let_go(struct mirror_show *s, int lock)
{
	if (lock >= 0)
		s->call.settings->notes->unlock(s->call.settings->notes->self, lock);
}

int show_move(struct mirror_show *s, const char *team, const char *path, const char *to)
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
	int from, to; /* descriptors */
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

int show_join(struct mirror_show *s, const char *name, const char *team)
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
