/*
 * qemu - workspaces that are microVMs.
 *
 * A VM's disk is a chain of layers (disk.h).  To fork one that runs, QEMU is
 * told to go on in a new layer, so that the one before stays as it is; the
 * fork is a layer over that.  A VM is detached from the host: it is found by
 * its process, or by its command line, which names the workspace and its disk.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/machine/machine_copy.h"
#include "core/machine/pid.h"
#include "core/machine/vm/disk.h"
#include "core/machine/trash.h"
#include "core/machine/vm/disk_trash.h"
#include "core/machine/vm/vm_image.h"
#include "core/machine/vm/qemu_inside.h"
#include "core/machine/vm/qmp.h"

enum { LOG_MOST = 1 << 20 };

/* Layers are made and swept one at a time: a layer that was just frozen may look
 * unused. */
static pthread_mutex_t layers = PTHREAD_MUTEX_INITIALIZER;

static struct disk disk_of(struct arena *a, const struct workspace_spec *s,
			   const char *id)
{
	return (struct disk){ a, arena_printf(a, "%s/disks", s->home), id };
}

/* --- making ------------------------------------------------------------------------- */

/* Whether the disk of a VM that was up is not there, with the fault filled. */
static bool is_lost(const struct workspace_spec *spec, const struct disk *d,
		    struct fault *f)
{
	return spec->was_up && !disk_top(d) &&
	       trash_lost(spec->home, spec->name, "disk", f);
}

static int qemu_make(void *self, const struct workspace_spec *spec, struct fault *f)
{
	struct arena a = { 0 };
	struct disk d = disk_of(&a, spec, spec->id);
	struct image image;

	(void)self;
	if (!is_lost(spec, &d, f) && !disk_top(&d) &&
	    image_find(spec->image, &a, &image, f) == 0) {
		pthread_mutex_lock(&layers);
		disk_begin(&d, image.dir, spec->disk_gb, f);
		pthread_mutex_unlock(&layers);
	}
	arena_release(&a);
	return f->code;
}

/* A name of QEMU's: a path, or "json:" and the options that it stands for. */
static const char *path_in(struct arena *a, const char *name)
{
	const char *path = name;
	json_t *options = NULL;

	if (name && !strncmp(name, "json:", 5)) {
		options = json_loads(name + 5, 0, NULL);
		path = json_string_value(
			json_object_get(json_object_get(options, "file"), "filename"));
	}
	path = arena_strdup(a, path);
	json_decref(options);
	return path;
}

/* The layer that QEMU writes to now. */
static int ask_layer(struct arena *a, const char *monitor, const char **layer,
		     struct fault *f)
{
	json_t *drives = NULL, *drive;
	size_t i;

	*layer = NULL;
	if (qmp_ask(monitor, "query-block", NULL, &drives, f))
		return f->code;
	json_array_foreach(drives, i, drive) {
		const json_t *inserted = json_object_get(drive, "inserted");

		*layer = path_in(a, json_string_value(json_object_get(inserted, "file")));
	}
	json_decref(drives);
	return *layer ? 0 : fault_set(f, FAULT_IO, "", "QEMU names no disk");
}

static int freeze_running(const struct disk *d, const char *monitor, const char **layer,
			  struct fault *f)
{
	const char *top;
	json_t *args;

	if (ask_layer(d->arena, monitor, layer, f) || disk_cover(d, *layer, &top, f))
		return f->code;
	args = json_pack("{ss,ss,ss,ss}", "device", "disk", "snapshot-file", top,
			 "format", "qcow2", "mode", "existing");
	return qmp_ask(monitor, "blockdev-snapshot-sync", args, NULL, f);
}

/* Gives the layer with all that the disk's workspace has written, which no longer
 * changes. */
static int freeze(const struct workspace_spec *spec, const struct disk *d,
		  const char *sockets, const char **layer, struct fault *f)
{
	struct process ignored;

	return vm_find(spec->home, d->id, &ignored)
		       ? freeze_running(d, vm_monitor(d->arena, sockets), layer, f)
		       : disk_freeze(d, layer, f);
}

/* Finds the layer that a copy is made over: of an entry of the trash, a snapshot's, or the
 * parent's as it is now. */
static int find_origin(const struct workspace_spec *spec, struct disk *from,
		       const char **layer, struct fault *f)
{
	if (spec->source)
		return disk_trash_find(spec->source, from, layer)
			       ? 0
			       : fault_set(f, FAULT_NOT_FOUND, "",
					   "the trash has the disk no more");
	if (!spec->snapshot)
		return freeze(spec, from, spec->parent_sockets, layer, f);
	*layer = disk_kept(from, spec->snapshot);
	return *layer ? 0 : fault_set(f, FAULT_NOT_FOUND, "", "the snapshot is gone");
}

static int qemu_fork(void *self, const struct workspace_spec *spec, struct fault *f)
{
	struct arena a = { 0 };
	struct disk d = disk_of(&a, spec, spec->id);
	struct disk from = disk_of(&a, spec, spec->parent);
	const char *layer;

	(void)self;
	pthread_mutex_lock(&layers);
	if (!is_lost(spec, &d, f) && !disk_top(&d) &&
	    find_origin(spec, &from, &layer, f) == 0)
		disk_branch(&d, &from, layer, spec->disk_gb, f);
	pthread_mutex_unlock(&layers);
	arena_release(&a);
	return f->code;
}

static int qemu_remove_folders(const struct workspace_spec *spec, struct fault *f)
{
	size_t n = strlen(spec->home);

	if (strncmp(spec->path, spec->home, n) ||
	    strncmp(spec->path + n, "/workspaces/", 12) || strstr(spec->path, "/../"))
		return fault_set(f, FAULT_DENIED, "", "%s is not the host's", spec->path);
	if (tree_remove(spec->path, f) == 0)
		tree_remove(spec->sockets, f);
	return f->code;
}

static int qemu_keep(void *self, const struct workspace_spec *spec, int64_t now_ms,
		     const struct trash_bounds *bounds, struct fault *f)
{
	struct arena a = { 0 };
	struct disk d = disk_of(&a, spec, spec->id);
	int rc = disk_trash_take(&d, disk_top(&d), spec, now_ms, bounds, f);

	(void)self;
	arena_release(&a);
	return rc;
}

static int qemu_destroy(void *self, const struct workspace_spec *spec, struct fault *f)
{
	struct arena a = { 0 };
	struct disk d = disk_of(&a, spec, spec->id);
	struct process process;

	(void)self;
	if (vm_find(spec->home, spec->id, &process))
		vm_kill(&process, f); /* one whose pid was never written down */
	if (!f->code && qemu_remove_folders(spec, f) == 0) {
		pthread_mutex_lock(&layers);
		disk_abandon(&d);
		disk_sweep(spec->home);
		pthread_mutex_unlock(&layers);
	}
	arena_release(&a);
	return f->code;
}

/* Moves a layer into the trash: of a snapshot that is forgotten, or the one that a restore
 * replaces. */
static int keep_layer(const struct workspace_spec *spec, const struct disk *d,
		      const char *layer, struct fault *f)
{
	return spec->trash
		       ? disk_trash_take(d, layer, spec, clock_wall_ms(), spec->trash, f)
		       : TRASH_NOTHING;
}

/* --- snapshots ----------------------------------------------------------------------- */

static int qemu_snapshot(void *self, const struct workspace_spec *spec, const char *id,
			 struct fault *f)
{
	struct arena a = { 0 };
	struct disk d = disk_of(&a, spec, spec->id);
	const char *layer;

	(void)self;
	pthread_mutex_lock(&layers);
	if (!disk_kept(&d, id) && freeze(spec, &d, spec->sockets, &layer, f) == 0)
		disk_keep(&d, id, layer, f);
	pthread_mutex_unlock(&layers);
	arena_release(&a);
	return f->code;
}

static int qemu_forget(void *self, const struct workspace_spec *spec, const char *id,
		       struct fault *f)
{
	struct arena a = { 0 };
	struct disk d = disk_of(&a, spec, spec->id);

	(void)self;
	pthread_mutex_lock(&layers);
	if (keep_layer(spec, &d, disk_kept(&d, id), f) >= 0) {
		disk_forget(&d, id);
		disk_sweep(spec->home);
	}
	pthread_mutex_unlock(&layers);
	arena_release(&a);
	return f->code;
}

static int qemu_restore(void *self, const struct workspace_spec *spec, const char *id,
			struct fault *f)
{
	struct arena a = { 0 };
	struct disk d = disk_of(&a, spec, spec->id);
	const char *layer, *top;

	(void)self;
	pthread_mutex_lock(&layers);
	layer = disk_kept(&d, id);
	if (!layer)
		fault_set(f, FAULT_NOT_FOUND, "", "the snapshot is gone");
	else if (keep_layer(spec, &d, disk_top(&d), f) >= 0 &&
		 disk_cover(&d, layer, &top, f) == 0)
		disk_sweep(spec->home);
	pthread_mutex_unlock(&layers);
	arena_release(&a);
	return f->code;
}

/* --- running -------------------------------------------------------------------------- */

/* QEMU does not make its sockets anew: a VM that is reached over a serial port only is lost without
 * them, until it is started again. */
static bool qemu_deaf(void *self, const struct workspace_spec *spec,
		      const struct process *p)
{
	struct arena a = { 0 };
	bool gone = !p->cid &&
		    access(arena_printf(&a, "%s/control.serial", spec->sockets), F_OK) !=
			    0;

	(void)self;
	arena_release(&a);
	return gone;
}

/* Whether a VM that lives can still be spoken to: its sockets may be gone with their
 * folder. */
static bool is_reachable(struct arena *a, const struct workspace_spec *spec,
			 const struct process *p)
{
	return !access(vm_monitor(a, spec->sockets), F_OK) && !qemu_deaf(NULL, spec, p);
}

static int qemu_start(void *self, const struct workspace_spec *spec,
		      struct process *process, struct fault *f)
{
	struct arena a = { 0 };
	struct disk d = disk_of(&a, spec, spec->id);
	const char *top = disk_top(&d), *image = disk_image(&d);
	bool found = vm_find(spec->home, spec->id, process);

	(void)self;
	if (found && !is_reachable(&a, spec, process)) {
		vm_kill(process, f);
		found = false;
	}
	if (!found && (!top || !image))
		fault_set(f, FAULT_NOT_FOUND, "", "the VM's disk is gone");
	if (!found && !f->code)
		vm_start(spec, image, top, process, f);
	arena_release(&a);
	return f->code;
}

static void qemu_address(void *self, const struct workspace_spec *spec,
			 const struct process *p, char out[ADDRESS_SIZE])
{
	(void)self;
	if (p->cid)
		snprintf(out, ADDRESS_SIZE, "vsock:%lld", (long long)p->cid);
	else
		snprintf(out, ADDRESS_SIZE, "serial:%s", spec->sockets);
}

static int qemu_stop(void *self, const struct process *p, bool now, struct fault *f)
{
	(void)self;
	return pid_stop(p, now, f);
}

static bool qemu_alive(void *self, const struct process *p)
{
	(void)self;
	return pid_alive(p);
}

/* --- sweeping -------------------------------------------------------------------------- */

static void qemu_sweep(void *self, const char *home, const char *const *gone, size_t n)
{
	struct arena a = { 0 };
	struct disk d = { .arena = &a, .folder = arena_printf(&a, "%s/disks", home) };

	(void)self;
	for (size_t i = 0; i < n; i++) {
		d.id = gone[i];
		disk_abandon(&d);
	}
	pthread_mutex_lock(&layers);
	disk_sweep(home);
	pthread_mutex_unlock(&layers);
	arena_release(&a);
}

/* The last line of a log that has `mark` in it, from behind that on. */
static void last_line(const char *path, const char *mark, char out[200])
{
	FILE *log = fopen(path, "re");
	char line[512];

	while (log && fgets(line, sizeof(line), log)) {
		const char *said = strstr(line, mark);

		line[strcspn(line, "\r\n")] = '\0';
		if (said)
			snprintf(out, 200, "%.190s", said + strlen(mark));
	}
	if (log)
		fclose(log);
}

/* Lines of the guest's init begin with "cadre: " (guest/guest_boot.c); without any, QEMU
 * may know the reason, as when somebody has sent it a signal. */
static void qemu_last_words(void *self, const struct workspace_spec *spec, char out[200])
{
	struct arena a = { 0 };

	(void)self;
	last_line(arena_printf(&a, "%s/console.log", spec->path), "cadre: ", out);
	if (!*out)
		last_line(arena_printf(&a, "%s/qemu.log", spec->path),
			  "qemu-system-x86_64: ", out);
	arena_release(&a);
}

/* The log of the console is the guest's to fill: it is emptied in time.  QEMU
 * appends to it. */
static void qemu_tend(void *self, const struct workspace_spec *spec)
{
	char log[4200];
	struct stat st;

	(void)self;
	snprintf(log, sizeof(log), "%s/console.log", spec->path);
	if (!stat(log, &st) && st.st_size > LOG_MOST && truncate(log, 0))
		fprintf(stderr, "%s stays long: %m\n", log);
}

static bool qemu_seek(void *self, const char *home, const char *id,
		      struct process *process)
{
	(void)self;
	return vm_find(home, id, process);
}

const struct backend backend_qemu = {
	.name = "qemu",
	.vm = true,
	.make = qemu_make,
	.fork = qemu_fork,
	.start = qemu_start,
	.address = qemu_address,
	.stop = qemu_stop,
	.alive = qemu_alive,
	.deaf = qemu_deaf,
	.keep = qemu_keep,
	.destroy = qemu_destroy,
	.snapshot = qemu_snapshot,
	.forget = qemu_forget,
	.restore = qemu_restore,
	.last_words = qemu_last_words,
	.tend = qemu_tend,
	.seek = qemu_seek,
	.sweep = qemu_sweep,
};
