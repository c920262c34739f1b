#include "core/machine/vm/disk.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/machine/child.h"
#include "core/machine/private.h"
#include "core/machine/vm/disk_layer.h"
#include "storage/durable.h"

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

/* A link that stands there already is as it should be, or is replaced. */
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

/* `over` as it is to be named in the layer: from its folder, so that the state
 * can be moved, unless it is an image's. */
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
		"-u", /* a guest may be writing below */
		"-F",
		"qcow2",
		"-b",
		name,
		half,
		arena_printf(d->arena, "%lld", (long long)(wanted > size ? wanted : size)),
		NULL
	};

	if (size < 0)
		return fault_set(f, FAULT_IO, "", "%.180s is no qcow2 image", over);
	unlink(half);
	if (child_run(words, NULL, f))
		return f->code;
	private_tree(half); /* qemu-img asks the umask */
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
		return fault_set(f, FAULT_NOT_FOUND, "", "what is forked has no disk");
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

/* A top that nothing was written to since it was made is as good as what it
 * covers, and needs no cover of its own. */
int disk_freeze(const struct disk *d, const char **layer, struct fault *f)
{
	const char *top = disk_top(d), *cover;

	if (!top)
		return fault_set(f, FAULT_NOT_FOUND, "", "the workspace has no disk");
	*layer = top;
	/* QEMU may have been killed before it synced what it wrote. */
	if (sync_file(top))
		return fault_set(f, FAULT_IO, "", "cannot sync %.160s: %s", top,
				 strerror(errno));
	if (layer_is_empty(top))
		return (*layer = layer_below(d->arena, top))
			       ? 0
			       : fault_set(f, FAULT_IO, "", "%.180s is over nothing",
					   top);
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
