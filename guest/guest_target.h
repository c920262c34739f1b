/*
 * guest_target - a file that is being replaced: as a whole, or not at all.
 *
 * A file without a name is written, fsynced and put in its place.  So a reader sees the
 * old file or the new file, never half a file, and a written file survives a crash.  On
 * file systems without unnamed files, the new file has a name in the same folder,
 * `.cadre-…`.  No symlink is followed.
 */
#ifndef GUEST_GUEST_TARGET_H
#define GUEST_GUEST_TARGET_H

#include <sys/stat.h>

#include "guest/guest_peer.h"

enum {
	FILE_MAX = 32 << 20, /* of a file that is written by a single message */
	UPLOAD_MAX = 1 << 30, /* of a file that is written in parts */
	PIECE = FRAME_ROOM / 4 * 3, /* bytes that fit a frame as base64 */
	MODES = 07777,
};

/* A file that is being replaced. */
struct file_target {
	struct guest *guest;
	const char *where; /* field that names it */
	const char *path, *name; /* clean path, and its last part */
	int folder, fd; /* fd: the temporary file */
	char temporary[32]; /* name of the temporary file; "": it has none yet */
	struct stat old; /* st_mode 0: there is none */
};

/* New contents of a file: some bytes of the old file, then new ones, then the rest. */
struct file_change {
	size_t keep; /* bytes of the old file in front */
	const void *data;
	size_t len;
	size_t drop; /* bytes of the old file that the new ones stand for */
	bool has_mode;
	int64_t mode;
};

/* Opens the folder of the file `path`, and looks at the old file, which must be a regular
 * file or none: 0 or a fault about t->where, which the caller has set.  Texts of `t` are
 * in the arena.  target_close() closes it, after a fault, too. */
int target_open(struct guest *g, struct arena *a, struct file_target *t, const char *path,
		struct fault *f);
void target_close(struct file_target *t);

/* Checks before a change that its mode, offset and size are allowed: 0 or a fault. */
int target_check(const struct file_target *t, const struct file_change *c,
		 struct fault *f);
/* Writes the changed file, syncs it and puts it in place: 0 or a fault. */
int target_replace(struct file_target *t, const struct file_change *c, struct fault *f);

/* target_replace() in steps.  begin: an empty temporary file at t->fd; end: it is in the
 * file's place; drop: it is removed. */
int target_begin(struct file_target *t, struct fault *f);
int target_end(struct file_target *t, bool has_mode, int64_t mode, struct fault *f);
void target_drop(struct file_target *t);

/* Reads up to `len` bytes of a file from an offset on; returns how many there are, or -1
 * with errno. */
ssize_t file_read_range(int fd, char *to, size_t len, off_t at);

#endif
