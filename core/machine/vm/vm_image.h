/*
 * vm_image - the files that VMs boot: a kernel, an initrd with the guest, a root disk.
 *
 * Images belong to the user, and all states of the user share them. The folder of all images is
 * $CADRE_IMAGES, else $XDG_DATA_HOME/cadre/images, else ~/.local/share/cadre/images. Each
 * version is a folder NAME/VERSION/ with `vmlinuz`, `initrd` and `root.qcow2`. A version's
 * folder gets its name when the folder is complete. After that the folder never changes. If the
 * versions of an image are sorted by name, the newest version is the last.
 */
#ifndef CORE_MACHINE_VM_VM_IMAGE_H
#define CORE_MACHINE_VM_VM_IMAGE_H

#include "core/base/arena.h"
#include "core/base/fault.h"

#define IMAGE_DEFAULT "default"

struct image {
	const char *name, *version;
	const char *dir; /* the version's folder, absolute */
};

/* Returns the folder of all images. The folder may be missing. */
const char *image_folder(struct arena *a);

/* Checks the name of an image or a version: 1 to 64 characters of a-z A-Z 0-9 . _ -, of which
 * the first is no dot. */
int image_check_name(const char *name, const char *where, struct fault *f);

/* Finds an image. `wanted` is `NAME` (the newest version), `NAME@VERSION`, or NULL for
 * IMAGE_DEFAULT. */
int image_find(const char *wanted, struct arena *a, struct image *out, struct fault *f);

/* Lists all images, sorted by name and version. */
int image_list(struct arena *a, struct image **out, size_t *n, struct fault *f);

#endif
