/*
 * guest_target - replaces a file as a whole or not at all.
 *
 * The new contents are written to a file without a name. The file without a name is fsynced and
 * then put in the place of the old file. A reader sees either the old file or the new file,
 * never a part of a file. After target_replace() has returned 0, the new file survives a crash.
 * If a file without a name is not possible here, the new file has a temporary name `.cadre-…`
 * in the same folder. No symlink is followed.
 */
#ifndef GUEST_GUEST_TARGET_H
#define GUEST_GUEST_TARGET_H

#include <sys/stat.h>

#include "guest/guest_peer.h"

enum {
	FILE_MAX = 32 << 20, /* bytes of a file written by one message */
	UPLOAD_MAX = 1 << 30, /* bytes of a file written in parts */
	PIECE = FRAME_ROOM / 4 * 3, /* bytes that fit into a frame as base64 */
	MODES = 07777,
};

/* A file that is being replaced. */
struct file_target {
	struct guest *guest;
	const char *where; /* field of the request that names the file */
	const char *path, *name; /* the path without `.` and `..`, and the path's last
				    name */
	int folder, fd; /* fd: the temporary file */
	char temporary[32]; /* name of the temporary file; "": unnamed */
	struct stat old; /* the old file; st_mode 0: there is no old file */
};

/* New contents of a file. These are the first `keep` bytes of the old file, then the new bytes,
 * then the old file's bytes after the first `keep` + `drop` bytes. */
struct file_change {
	size_t keep; /* number of the old file's bytes before the new bytes */
	const void *data;
	size_t len;
	size_t drop; /* number of the old file's bytes that the new bytes replace */
	bool has_mode;
	int64_t mode;
};

/* Opens the folder of the file `path`, and looks at the old file. The old file must be a
 * regular file or be missing. Returns 0, or a fault at t->where, which the caller has set
 * before. Texts of `t` are in the arena `a`. The caller must call target_close(), also after a
 * fault. */
int target_open(struct guest *g, struct arena *a, struct file_target *t, const char *path,
		struct fault *f);
void target_close(struct file_target *t);

/* Checks that the mode, the offset and the size of the change `c` are allowed. Returns 0 or a
 * fault. */
int target_check(const struct file_target *t, const struct file_change *c,
		 struct fault *f);
/* Writes and syncs the new file, and puts the new file in the place of the old file. Returns 0
 * or a fault. */
int target_replace(struct file_target *t, const struct file_change *c, struct fault *f);

/* These functions are the steps of target_replace(). target_begin() makes an empty temporary
 * file, t->fd. target_end() syncs the temporary file and puts it in the place of the old file.
 * target_drop() removes the temporary file. */
int target_begin(struct file_target *t, struct fault *f);
int target_end(struct file_target *t, bool has_mode, int64_t mode, struct fault *f);
void target_drop(struct file_target *t);

/* Reads up to `len` bytes of a file, from the offset `at` on. Returns the number of bytes that
 * were read, or -1 with errno. */
ssize_t file_read_range(int fd, char *to, size_t len, off_t at);

#endif
