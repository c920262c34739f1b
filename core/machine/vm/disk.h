/*
 * disk - the disks of VMs, as chains of qcow2 layers.
 *
 *	FOLDER/ID/0.qcow2 1.qcow2 ...  layers of workspace ID: only the layer with
 *	                               the highest number is written to
 *	FOLDER/ID/image                link to the first image of the chain
 *	FOLDER/ID/NAME.snapshot        link to the layer that a snapshot keeps
 *	FOLDER/ID/gone                 the workspace is over; its layers stay while
 *	                               other disks are based on them, or the trash
 *	                               keeps the disk
 *
 * A layer is there when its file is: it is made under another name and
 * renamed.  So after any crash in between, the highest number is a whole disk
 * with all that was written.  Results are in the arena.  This code does not know
 * which VMs run: callers see to it that a disk is not frozen while somebody else
 * writes to it, and that disk_sweep() runs alone.
 */
#ifndef CORE_MACHINE_VM_DISK_H
#define CORE_MACHINE_VM_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/fault.h"
#include "core/machine/backend.h"
#include "core/machine/trash.h"

struct disk {
	struct arena *arena;
	const char *folder, *id;
};

/* The layer that is written to; NULL: there is no disk. */
const char *disk_top(const struct disk *d);
/* Folder of its image. */
const char *disk_image(const struct disk *d);

/* A new disk over an image's, or over a layer of another; nothing if there is
 * one.  It is `gb` large, or as large as what it is over. */
int disk_begin(const struct disk *d, const char *image_dir, int64_t gb, struct fault *f);
int disk_branch(const struct disk *d, const struct disk *from, const char *layer,
		int64_t gb, struct fault *f);

/* Makes a layer over `layer`, to become the top. */
int disk_cover(const struct disk *d, const char *layer, const char **top,
	       struct fault *f);
/* Gives a layer that holds the whole disk and stays as it is; nobody may write to the disk. */
int disk_freeze(const struct disk *d, const char **layer, struct fault *f);

/* keep: keeps a layer under a name; kept: that layer, or NULL; forget: lets it go. */
int disk_keep(const struct disk *d, const char *name, const char *layer, struct fault *f);
const char *disk_kept(const struct disk *d, const char *name);
void disk_forget(const struct disk *d, const char *name);

/* The workspace is over. */
void disk_abandon(const struct disk *d);
/* Removes the layers in HOME/disks that nothing needs any more: no workspace, no snapshot
 * and no entry of the trash. */
void disk_sweep(const char *home);

/*
 * disk_layer - the facts that a qcow2 file tells of itself, in its first bytes.
 */

/* The size in bytes of the disk that a layer belongs to; -1 when the file is no qcow2. */
int64_t layer_size(const char *path);
/* Returns the absolute path, without links, of the layer on which this one is based;
 * NULL: none. */
const char *layer_below(struct arena *a, const char *path);

/*
 * disk_trash - disks of removed VMs, which the state's trash keeps.
 *
 * A disk is not moved, since other disks may be made from its layers, and name them.  The
 * disk's entry in the trash (core/machine/trash.h) is a folder with
 *
 *	disk	link to the last layer that was written to
 *	vm.json	settings of a VM made from the disk: image, vcpus, memory_mb, disk_gb
 *
 * disk_sweep() keeps the layer of such a link: somebody needs that layer.
 */

/* Keeps a layer of a workspace's disk, its top or a snapshot's, that is about to be let go
 * of: as trash_take().  NULL: there is none. */
int disk_trash_take(const struct disk *d, const char *top,
		    const struct workspace_spec *spec, int64_t now_ms,
		    const struct trash_bounds *bounds, struct fault *f);

/* Finds the disk, in `folder`, and the layer that an entry keeps: false if they are gone.
 * `from` has its arena and folder. */
bool disk_trash_find(const char *entry, struct disk *from, const char **layer);

#endif
