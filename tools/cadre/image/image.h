/*
 * image - the parts of `cadre image build`, each of which makes one file.
 */
#ifndef TOOLS_CADRE_IMAGE_IMAGE_H
#define TOOLS_CADRE_IMAGE_IMAGE_H

#include <stdint.h>
#include <stdio.h>

#include "core/base/arena.h"
#include "core/base/fault.h"
#include "tools/cadre/screen/progress.h"

/* The folders of a build. */
struct image_build {
	struct arena arena;
	const char *half; /* folder of the image as it grows */
	const char *work; /* thrown away afterwards */
	const char *cache; /* packages that were fetched */
	const char *rootfs; /* the user's own, or NULL */
	const char *kernel; /* its version, once fetched */
	const char *guest; /* the guest's program, after image_guest() */
	struct progress *progress; /* NULL: none is seen */
};

/* Finds the guest's program beside this one, or where `make install` puts it. */
int image_guest(struct image_build *b, struct fault *f);
/* kernel.c: half/vmlinuz and half/initrd. */
int image_kernel(struct image_build *b, struct fault *f);
/* root.c: half/root.qcow2. */
int image_root(struct image_build *b, struct fault *f);

/* A fault where a signal has ended the build, or that one. */
int image_wanted(struct fault *f);

/* Fetches packages, named as the archive does, into the cache and unpacks them
 * into `to`. */
int image_unpack(struct image_build *b, const char *const *packages, const char *to,
		 struct fault *f);
/* Says what is done now: on the progress line, else as a line of its own on stderr. */
void image_say(struct image_build *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* --- archive.c: an initrd as cpio's "newc" ----------------------------------------- */

struct archive {
	FILE *file;
	unsigned entries;
	struct fault *fault; /* the first one */
};

int archive_open(struct archive *ar, const char *path, struct fault *f);
void archive_folder(struct archive *ar, const char *name);
void archive_device(struct archive *ar, const char *name, unsigned mode, unsigned major,
		    unsigned minor);
/* A file with the bytes of `from`. */
void archive_file(struct archive *ar, const char *name, unsigned mode, const char *from);
int archive_close(struct archive *ar); /* 0, or the fault */

#endif
