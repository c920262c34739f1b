#include "core/machine/vm/disk.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/machine/child.h"
#include "core/machine/machine_copy.h"
#include "core/machine/private.h"
#include "core/machine/trash.h"
#include "core/machine/work.h"
#include "storage/durable.h"

/* The header of a qcow2 file, as QEMU's docs/interop/qcow2.txt defines it, big-endian. */
struct head {
	uint32_t magic, version;
	uint64_t below_at;
	uint32_t below_size, cluster_bits;
	uint64_t size;
	uint32_t crypt, l1_size;
	uint64_t l1_at;
};

enum { MAGIC = 0x514649fb };

/* Returns the number from a file name of the form NUMBER.qcow2, or -1 if the name has another
 * form. */
static int layer_number(const char *name)
{
	char *end;
	long n = name[0] >= '0' && name[0] <= '9' ? strtol(name, &end, 10) : -1;

	return n >= 0 && n < INT_MAX && !strcmp(end, ".qcow2") ? (int)n : -1;
}

/* Returns the highest number of the layers in the folder `dir`, or -1 if the folder has no
 * layers. */
static int layer_highest(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int highest = -1;

	while (d && (e = readdir(d))) {
		int n = layer_number(e->d_name);

		highest = n > highest ? n : highest;
	}
	if (d)
		closedir(d);
	return highest;
}

static int open_head(const char *path, struct head *h)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && pread(fd, h, sizeof(*h), 0) == sizeof(*h) &&
	    be32toh(h->magic) == MAGIC)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int64_t layer_size(const char *path)
{
	struct head h;
	int fd = open_head(path, &h);

	if (fd < 0)
		return -1;
	close(fd);
	return (int64_t)be64toh(h.size);
}

const char *layer_below(struct arena *a, const char *path)
{
	char name[1024] = "", full[PATH_MAX];
	const char *slash = strrchr(path, '/');
	struct head h;
	int fd = open_head(path, &h);
	uint32_t size = fd < 0 ? 0 : be32toh(h.below_size);

	if (size >= sizeof(name) ||
	    (size && pread(fd, name, size, (off_t)be64toh(h.below_at)) != (ssize_t)size))
		size = 0;
	if (fd >= 0)
		close(fd);
	if (!size || !slash)
		return NULL;
	name[size] = '\0';
	if (!realpath(name[0] == '/' ? name
				     : arena_printf(a, "%.*s/%s", (int)(slash - path),
						    path, name),
		      full))
		return NULL;
	return arena_strdup(a, full);
}

/* Whether nothing was ever written to the layer. A layer is empty if all entries of the L1
 * table in its qcow2 file are 0. */
static bool layer_is_empty(const char *path)
{
	struct head h;
	int fd = open_head(path, &h);
	uint64_t entry;
	bool empty = fd >= 0;

	for (uint32_t i = 0; empty && i < be32toh(h.l1_size); i++)
		empty = pread(fd, &entry, sizeof(entry),
			      (off_t)be64toh(h.l1_at) + i * 8) == sizeof(entry) &&
			entry == 0;
	if (fd >= 0)
		close(fd);
	return empty;
}

/* --- places ----------------------------------------------------------------------- */

static const char *layer_path(const struct disk *d, int n)
{
	return arena_printf(d->arena, "%s/%s/%d.qcow2", d->folder, d->id, n);
}

const char *disk_top(const struct disk *d)
{
	int n = layer_highest(arena_printf(d->arena, "%s/%s", d->folder, d->id));

	return n < 0 ? NULL : layer_path(d, n);
}

static const char *read_link(struct arena *a, const char *path)
{
	char to[4096];
	ssize_t n = readlink(path, to, sizeof(to) - 1);

	return n < 0 ? NULL : arena_strndup(a, to, (size_t)n);
}

const char *disk_image(const struct disk *d)
{
	return read_link(d->arena,
			 arena_printf(d->arena, "%s/%s/image", d->folder, d->id));
}

static int disk_make_folder(const struct disk *d, struct fault *f)
{
	const char *path = arena_printf(d->arena, "%s/%s", d->folder, d->id);

	if (dir_make(d->folder, 0700) || dir_make(path, 0700))
		return fault_set(f, FAULT_IO, "", "cannot make %.160s: %s", path,
				 strerror(errno));
	return 0;
}

/* Makes the symbolic link `name` in the disk's folder. An older link `name` is replaced. */
static int disk_make_link(const struct disk *d, const char *name, const char *to,
			  struct fault *f)
{
	const char *path = arena_printf(d->arena, "%s/%s/%s", d->folder, d->id, name);
	const char *half = arena_printf(d->arena, "%s.half", path);

	unlink(half);
	if (symlink(to, half) || rename(half, path) || dir_sync_above(path))
		return fault_set(f, FAULT_IO, "", "cannot make %.160s: %s", path,
				 strerror(errno));
	return 0;
}

/* --- making ------------------------------------------------------------------------ */

static int sync_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int rc = fd < 0 ? -1 : fsync(fd);

	if (fd >= 0)
		close(fd);
	return rc;
}

/* Makes a layer that is based on the layer `over`. The new layer stores the path of `over`. The
 * path is relative if `over` is in the state's folder, so that this folder can be moved. The
 * path of an image's layer is absolute. */
static int make_layer(const struct disk *d, int n, const char *over, int64_t gb,
		      struct fault *f)
{
	const char *path = layer_path(d, n);
	const char *half = arena_printf(d->arena, "%s.half", path);
	size_t len = strlen(d->folder);
	const char *name = strncmp(over, d->folder, len) || over[len] != '/'
				   ? over
				   : arena_printf(d->arena, "..%s", over + len);
	int64_t size = layer_size(over), wanted = gb << 30;
	const char *words[] = {
		"qemu-img",
		"create",
		"-q",
		"-f",
		"qcow2",
		"-u", /* do not open the layer below, to which a guest may write */
		"-F",
		"qcow2",
		"-b",
		name,
		half,
		arena_printf(d->arena, "%lld", (long long)(wanted > size ? wanted : size)),
		NULL
	};

	if (size < 0)
		return fault_set(f, FAULT_IO, "", "%.180s is not a qcow2 image", over);
	unlink(half);
	if (child_run(words, NULL, f))
		return f->code;
	private_tree(half); /* qemu-img sets rights by the umask */
	if (sync_file(half) || rename(half, path) || dir_sync_above(path))
		return fault_set(f, FAULT_IO, "", "cannot make %.160s: %s", path,
				 strerror(errno));
	return 0;
}

int disk_begin(const struct disk *d, const char *image_dir, int64_t gb, struct fault *f)
{
	if (disk_top(d))
		return 0;
	if (disk_make_folder(d, f) || disk_make_link(d, "image", image_dir, f))
		return f->code;
	return make_layer(d, 0, arena_printf(d->arena, "%s/root.qcow2", image_dir), gb,
			  f);
}

int disk_branch(const struct disk *d, const struct disk *from, const char *layer,
		int64_t gb, struct fault *f)
{
	const char *image = disk_image(from);

	if (disk_top(d))
		return 0;
	if (!image)
		return fault_set(f, FAULT_NOT_FOUND, "",
				 "the forked workspace has no disk");
	if (disk_make_folder(d, f) || disk_make_link(d, "image", image, f))
		return f->code;
	return make_layer(d, 0, layer, gb, f);
}

int disk_cover(const struct disk *d, const char *layer, const char **top, struct fault *f)
{
	int n = layer_highest(arena_printf(d->arena, "%s/%s", d->folder, d->id)) + 1;

	*top = layer_path(d, n);
	return make_layer(d, n, layer, 0, f);
}

/* If nothing was written to the top layer yet, the layer below holds the whole disk, and no new
 * layer is needed. */
int disk_freeze(const struct disk *d, const char **layer, struct fault *f)
{
	const char *top = disk_top(d), *cover;

	if (!top)
		return fault_set(f, FAULT_NOT_FOUND, "", "the workspace has no disk");
	*layer = top;
	/* QEMU may have been killed before QEMU synced its data. */
	if (sync_file(top))
		return fault_set(f, FAULT_IO, "", "cannot sync %.160s: %s", top,
				 strerror(errno));
	if (layer_is_empty(top))
		return (*layer = layer_below(d->arena, top))
			       ? 0
			       : fault_set(f, FAULT_IO, "",
					   "%.180s has no image below it", top);
	return disk_cover(d, top, &cover, f);
}

/* --- snapshots ---------------------------------------------------------------------- */

int disk_keep(const struct disk *d, const char *name, const char *layer, struct fault *f)
{
	return disk_make_link(d, arena_printf(d->arena, "%s.snapshot", name), layer, f);
}

const char *disk_kept(const struct disk *d, const char *name)
{
	return read_link(d->arena, arena_printf(d->arena, "%s/%s/%s.snapshot", d->folder,
						d->id, name));
}

void disk_forget(const struct disk *d, const char *name)
{
	const char *path =
		arena_printf(d->arena, "%s/%s/%s.snapshot", d->folder, d->id, name);

	unlink(path);
	dir_sync_above(path);
}

void disk_abandon(const struct disk *d)
{
	const char *path = arena_printf(d->arena, "%s/%s/gone", d->folder, d->id);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	dir_sync_above(path);
}

/* A layer, or a link to a layer that a snapshot or the trash keeps. */
struct found {
	const char *path, *below; /* paths without symlinks; `below` may be NULL */
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

/* Adds the layers and snapshots of a workspace to the list of the sweep. Layers of a destroyed
 * workspace are kept only while other layers are based on them or the trash keeps them. */
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

/* Adds the disks that the trash keeps to the list of the sweep. A sweep removes no layer of a
 * disk that the trash keeps. */
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

/* Removes all listed layers that are not needed. Returns true if a layer was removed. The
 * removal of a layer may leave the layer below unneeded, so the caller calls remove_some()
 * until no layer is removed. */
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
			arena_add(&s.arena, dirs, n,
				  arena_printf(&s.arena, "%s/%s", full, e->d_name));
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

/* Whether the trash already keeps the layer `top`. An earlier host may have put the disk into
 * the trash, and died before the workspace was removed. */
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

/* Makes the folder of a trash entry under the temporary name `half`. A list of the trash leaves
 * out temporary names. */
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
