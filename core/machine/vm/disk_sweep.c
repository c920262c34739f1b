#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/machine/machine_copy.h"
#include "core/machine/trash.h"
#include "core/machine/vm/disk.h"
#include "core/machine/vm/disk_layer.h"

/* A layer, or a snapshot's link to one. */
struct found {
	const char *path, *below; /* without links; `below` may be NULL */
	bool stays, removed;
};

struct sweep {
	struct arena arena;
	struct found *all;
	size_t n;
};

static void disk_sweep_add(struct sweep *s, const char *path, const char *below,
			   bool stays)
{
	struct found *f = arena_push(&s->arena, &s->all, &s->n, sizeof(*f));

	*f = (struct found){ .path = path, .below = below, .stays = stays };
}

static void disk_sweep_look_at(struct sweep *s, const char *dir, const char *name,
			       int highest)
{
	const char *path = arena_printf(&s->arena, "%s/%s", dir, name);
	const char *end = strrchr(name, '.');
	char to[PATH_MAX];

	if (layer_number(name) >= 0)
		disk_sweep_add(s, path, layer_below(&s->arena, path),
			       layer_number(name) == highest);
	else if (end && !strcmp(end, ".snapshot") && realpath(path, to))
		disk_sweep_add(s, path, arena_strdup(&s->arena, to), true);
}

/* Layers of a destroyed workspace are kept only while another workspace's layer is
 * based on them. */
static void disk_sweep_look_into(struct sweep *s, const char *dir)
{
	bool gone = !access(arena_printf(&s->arena, "%s/gone", dir), F_OK);
	int highest = gone ? -1 : layer_highest(dir);
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (!gone || layer_number(e->d_name) >= 0)
			disk_sweep_look_at(s, dir, e->d_name, highest);
	if (d)
		closedir(d);
}

/* A disk that the trash keeps is needed like a snapshot. */
static void look_into_trash(struct sweep *s, const char *home)
{
	struct trash_entry *entries;
	size_t n = trash_list(home, &s->arena, &entries);
	char to[PATH_MAX];

	for (size_t i = 0; i < n; i++)
		if (entries[i].kind == TRASH_VM &&
		    realpath(arena_printf(&s->arena, "%s/disk", entries[i].path), to))
			disk_sweep_add(s, entries[i].path, arena_strdup(&s->arena, to),
				       true);
}

static bool is_needed(const struct sweep *s, const struct found *f)
{
	if (f->stays)
		return true;
	for (size_t i = 0; i < s->n; i++)
		if (!s->all[i].removed && s->all[i].below &&
		    !strcmp(s->all[i].below, f->path))
			return true;
	return false;
}

/* Removes layers that nothing needs; true if it removed one, since another may be
 * unneeded then. */
static bool remove_some(struct sweep *s)
{
	bool any = false;

	for (size_t i = 0; i < s->n; i++) {
		struct found *f = &s->all[i];

		if (f->removed || is_needed(s, f) || unlink(f->path))
			continue;
		f->removed = any = true;
	}
	return any;
}

static void remove_empty(struct sweep *s, const char *dir)
{
	struct fault ignored = { 0 };

	if (!access(arena_printf(&s->arena, "%s/gone", dir), F_OK) &&
	    layer_highest(dir) < 0)
		tree_remove(dir, &ignored);
}

void disk_sweep(const char *home)
{
	struct sweep s = { 0 };
	const char **dirs = NULL;
	size_t n = 0;
	char full[PATH_MAX];
	struct dirent *e;
	DIR *d = realpath(arena_printf(&s.arena, "%s/disks", home), full) ? opendir(full)
									  : NULL;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			*(const char **)arena_push(&s.arena, &dirs, &n, sizeof(*dirs)) =
				arena_printf(&s.arena, "%s/%s", full, e->d_name);
	if (d)
		closedir(d);
	for (size_t i = 0; i < n; i++)
		disk_sweep_look_into(&s, dirs[i]);
	look_into_trash(&s, home);
	while (remove_some(&s))
		;
	for (size_t i = 0; i < n; i++)
		remove_empty(&s, dirs[i]);
	arena_release(&s.arena);
}
