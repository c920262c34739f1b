/*
 * guest_target - a file that is replaced as a whole or not at all.
 *
 * A file without a name is written, fsynced and put in its place. A reader sees the old file or
 * the new file, never half a file. A written file survives a crash. On file systems without
 * unnamed files, the new file has a name in the same folder, `.cadre-…`. No symlink is
 * followed.
 */
#ifndef GUEST_GUEST_TARGET_H
#define GUEST_GUEST_TARGET_H

#include <sys/stat.h>

#include "guest/guest_peer.h"

enum {
	FILE_MAX = 32 << 20, /* bytes of a file written by one message */
	UPLOAD_MAX = 1 << 30, /* bytes of a file written in parts */
	PIECE = FRAME_ROOM / 4 * 3, /* bytes that fit a frame as base64 */
	MODES = 07777,
};

/* A file that is being replaced. */
struct file_target {
	struct guest *guest;
	const char *where; /* field of the request that names the file */
	const char *path, *name; /* clean path, and its last part */
	int folder, fd; /* fd: the temporary file */
	char temporary[32]; /* name of the temporary file; "": unnamed */
	struct stat old; /* the old file; st_mode 0: no old file */
};

/* New contents of a file: first bytes of the old file, then new bytes, then the rest of the old
 * file. */
struct file_change {
	size_t keep; /* bytes of the old file before the new bytes */
	const void *data;
	size_t len;
	size_t drop; /* bytes of the old file that are replaced */
	bool has_mode;
	int64_t mode;
};

/* Opens the folder of the file `path`, and looks at the old file, which must be a regular file
 * or absent. Returns 0 or a fault that names t->where; the caller sets t->where before. Texts
 * of `t` are in the arena. The caller calls target_close(), also after a fault. */
int target_open(struct guest *g, struct arena *a, struct file_target *t, const char *path,
		struct fault *f);
void target_close(struct file_target *t);

/* Checks before a change that its mode, offset and size are allowed. Returns 0 or a fault. */
int target_check(const struct file_target *t, const struct file_change *c,
		 struct fault *f);
/* Writes the changed file, syncs the file and puts it in its place. Returns 0 or a fault. */
int target_replace(struct file_target *t, const struct file_change *c, struct fault *f);

/* The steps of target_replace(). target_begin() makes an empty temporary file, t->fd.
 * target_end() puts the temporary file in the place of the file. target_drop() removes the
 * temporary file. */
int target_begin(struct file_target *t, struct fault *f);
int target_end(struct file_target *t, bool has_mode, int64_t mode, struct fault *f);
void target_drop(struct file_target *t);

/* Reads up to `len` bytes of a file from an offset on. Returns the number of bytes read, or -1
 * with errno. */
ssize_t file_read_range(int fd, char *to, size_t len, off_t at);

#endif
