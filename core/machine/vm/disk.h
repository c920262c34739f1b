/*
 * disk - the disks of VMs, as chains of qcow2 layers.
 *
 *	FOLDER/ID/0.qcow2 1.qcow2 ...  layers of workspace ID: the VM writes only to
 *	                               the layer with the highest number
 *	FOLDER/ID/image                link to the first image of the chain
 *	FOLDER/ID/NAME.snapshot        link to the layer that a snapshot keeps
 *	FOLDER/ID/gone                 the workspace has ended; its layers stay while
 *	                               other disks are based on them, or the trash
 *	                               keeps the disk
 *
 * A layer is made under a temporary name and renamed when the layer is complete. So after any
 * crash the layer with the highest number and the layers below it hold the whole disk with all
 * data that was written. Paths that these functions return are in the disk's arena.
 *
 * The functions of disk.h do not know which VMs run. Callers make sure that a disk is not
 * frozen while another program writes to it, and that disk_sweep() runs alone.
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

/* Returns the layer to which the VM writes, or NULL if there is no disk. */
const char *disk_top(const struct disk *d);
/* Returns the folder of the disk's image. */
const char *disk_image(const struct disk *d);

/* disk_begin() makes a new disk over an image. disk_branch() makes a new disk over a layer of
 * another disk. If the disk exists already, both functions do nothing. The new disk has `gb`
 * GB, or the size of the layer below if that layer is larger. */
int disk_begin(const struct disk *d, const char *image_dir, int64_t gb, struct fault *f);
int disk_branch(const struct disk *d, const struct disk *from, const char *layer,
		int64_t gb, struct fault *f);

/* Makes a layer over `layer`; the new layer becomes the top. */
int disk_cover(const struct disk *d, const char *layer, const char **top,
	       struct fault *f);
/* Finds or makes a layer that holds the whole disk and no longer changes. No program may write
 * to the disk while disk_freeze() runs. */
int disk_freeze(const struct disk *d, const char **layer, struct fault *f);

/* disk_keep() keeps a layer under a name. disk_kept() returns the layer that is kept under a
 * name, or NULL. disk_forget() removes the name, so that the layer is no longer kept. */
int disk_keep(const struct disk *d, const char *name, const char *layer, struct fault *f);
const char *disk_kept(const struct disk *d, const char *name);
void disk_forget(const struct disk *d, const char *name);

/* Marks the disk's workspace as ended. */
void disk_abandon(const struct disk *d);
/* Removes the layers in HOME/disks that no workspace, no snapshot and no entry of the trash
 * needs. */
void disk_sweep(const char *home);

/*
 * disk_layer - reads facts about a layer from the first bytes of its qcow2 file.
 */

/* Returns the virtual size of a layer's disk in bytes, or -1 if the file is no qcow2 file. */
int64_t layer_size(const char *path);
/* Returns the absolute path, without links, of the layer on which the layer `path` is based, or
 * NULL if there is no layer below. */
const char *layer_below(struct arena *a, const char *path);

/*
 * disk_trash - keeps disks of removed VMs in the state's trash.
 *
 * The layers of a disk in the trash stay in the disk's own folder. Other disks may be based on
 * these layers and contain the paths of these layers. The disk's entry in the trash
 * (core/machine/trash.h) is a folder with
 *
 *	disk	link to the layer to which the VM wrote last
 *	vm.json	settings of a VM made from the disk: image, vcpus, memory_mb, disk_gb
 *
 * disk_sweep() keeps the layer to which the link `disk` points.
 */

/* Makes a trash entry for a disk before the disk's workspace or snapshot is removed. Bounds and
 * results are those of trash_take(). `top` is the layer to keep, which is the disk's top or a
 * snapshot's layer, or NULL if there is no layer. */
int disk_trash_take(const struct disk *d, const char *top,
		    const struct workspace_spec *spec, int64_t now_ms,
		    const struct trash_bounds *bounds, struct fault *f);

/* Finds the disk and the layer that an entry of the trash keeps. Returns false if the disk or
 * the layer is missing. The caller sets the arena and the folder of `from`. */
bool disk_trash_find(const char *entry, struct disk *from, const char **layer);

#endif
