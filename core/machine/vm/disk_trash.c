#include "core/machine/vm/disk_trash.h"

#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/machine/machine_copy.h"
#include "core/machine/private.h"
#include "core/machine/vm/disk_layer.h"
#include "core/machine/work.h"
#include "storage/durable.h"

/* Whether the trash has the layer already: a host may have died before it had removed all
 * else of the workspace. */
static bool disk_trash_is_kept(const struct disk *d, const char *top, const char *home)
{
	struct trash_entry *entries;
	size_t n = trash_list(home, d->arena, &entries);
	bool kept = false;

	for (size_t i = 0; i < n && !kept; i++) {
		struct disk of = { d->arena, d->folder, NULL };
		const char *layer;

		kept = entries[i].kind == TRASH_VM &&
		       disk_trash_find(entries[i].path, &of, &layer) &&
		       !strcmp(of.id, d->id) && !strcmp(layer, top);
	}
	return kept;
}

static int write_facts(const char *path, const struct workspace_spec *s)
{
	json_t *facts = json_pack("{s:s*, s:I, s:I, s:I}", "image", s->image, "vcpus",
				  (json_int_t)s->vcpus, "memory_mb",
				  (json_int_t)s->memory_mb, "disk_gb",
				  (json_int_t)s->disk_gb);
	int rc = facts ? json_dump_file(facts, path, JSON_COMPACT) : -1;

	json_decref(facts);
	return rc;
}

/* Makes the entry under a name that no list of the trash shows. */
static int make_entry(const char *half, const struct disk *d, const char *top,
		      const struct workspace_spec *spec, struct fault *f)
{
	struct arena *a = d->arena;
	const char *to = arena_printf(a, "../../disks/%s%s", d->id, strrchr(top, '/'));

	if (tree_remove(half, f) < 0)
		return f->code;
	if (dir_make_all(half, PRIVATE_FOLDER) ||
	    symlink(to, arena_printf(a, "%s/disk", half)) ||
	    write_facts(arena_printf(a, "%s/vm.json", half), spec) || tree_sync(half))
		return fault_set(f, FAULT_IO, "", "cannot make %.150s: %m", half);
	private_tree(half);
	return 0;
}

int disk_trash_take(const struct disk *d, const char *top,
		    const struct workspace_spec *spec, int64_t now_ms,
		    const struct trash_bounds *bounds, struct fault *f)
{
	const char *half = arena_printf(d->arena, "%s/trash/.%s", spec->home, d->id);
	int64_t bytes;

	if (bounds->keep_ms <= 0 || !top ||
	    (layer_is_empty(top) && !strcmp(strrchr(top, '/'), "/0.qcow2")))
		return TRASH_NOTHING;
	if (disk_trash_is_kept(d, top, spec->home))
		return TRASH_TAKEN;
	bytes = work_look(arena_printf(d->arena, "%s/%s", d->folder, d->id), NULL, 0,
			  NULL, NULL, NULL);
	if (bytes > bounds->bytes)
		return TRASH_TOO_LARGE;
	if (make_entry(half, d, top, spec, f) < 0)
		return f->code;
	return trash_put(spec->home, half,
			 &(struct trash_entry){ .kind = TRASH_VM,
						.name = spec->name,
						.removed_at = now_ms,
						.bytes = bytes },
			 f);
}

bool disk_trash_find(const char *entry, struct disk *from, const char **layer)
{
	struct arena *a = from->arena;
	char full[PATH_MAX], disks[PATH_MAX];
	const char *rest, *slash;
	size_t n;

	if (!realpath(arena_printf(a, "%s/disk", entry), full) ||
	    !realpath(from->folder, disks))
		return false;
	n = strlen(disks);
	if (strncmp(full, disks, n) != 0 || full[n] != '/')
		return false;
	rest = full + n + 1;
	slash = strchr(rest, '/');
	if (!slash || layer_number(slash + 1) < 0)
		return false;
	from->id = arena_strndup(a, rest, (size_t)(slash - rest));
	*layer = arena_printf(a, "%s/%s", from->folder, rest);
	return true;
}
