/*
 * vm_image - the files that VMs boot: a kernel, an initrd with the guest, a root disk.
 *
 * Images are the user's, shared by all states: $CADRE_IMAGES, else
 * $XDG_DATA_HOME/cadre/images, else ~/.local/share/cadre/images.  Each version
 * is a folder NAME/VERSION/ with `vmlinuz`, `initrd` and `root.qcow2`; it is
 * renamed to its place when it is whole, and never changed.  Versions sort by
 * time, the newest last.
 */
#ifndef CORE_MACHINE_VM_VM_IMAGE_H
#define CORE_MACHINE_VM_VM_IMAGE_H

#include "core/base/arena.h"
#include "core/base/fault.h"

#define IMAGE_DEFAULT "default"

struct image {
	const char *name, *version;
	const char *dir; /* its folder, absolute */
};

/* The folder of all images; it need not be there. */
const char *image_folder(struct arena *a);

/* 1 to 64 of a-z A-Z 0-9 . _ -, not beginning with a dot: a name, and a
 * version. */
int image_check_name(const char *name, const char *where, struct fault *f);

/* `NAME` (its newest version), `NAME@VERSION`, or NULL for IMAGE_DEFAULT. */
int image_find(const char *wanted, struct arena *a, struct image *out, struct fault *f);

/* All images, sorted by name and version. */
int image_list(struct arena *a, struct image **out, size_t *n, struct fault *f);

#endif
