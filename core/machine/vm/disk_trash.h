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
#ifndef CORE_MACHINE_VM_DISK_TRASH_H
#define CORE_MACHINE_VM_DISK_TRASH_H

#include "core/machine/backend.h"
#include "core/machine/trash.h"
#include "core/machine/vm/disk.h"

/* Keeps a layer of a workspace's disk, its top or a snapshot's, that is about to be let go
 * of: as trash_take().  NULL: there is none. */
int disk_trash_take(const struct disk *d, const char *top,
		    const struct workspace_spec *spec, int64_t now_ms,
		    const struct trash_bounds *bounds, struct fault *f);

/* Finds the disk, in `folder`, and the layer that an entry keeps: false if they are gone.
 * `from` has its arena and folder. */
bool disk_trash_find(const char *entry, struct disk *from, const char **layer);

#endif
