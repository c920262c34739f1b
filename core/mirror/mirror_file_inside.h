/*
 * mirror_file_inside - paths and descriptors below the vault's root.
 */
#ifndef CORE_MIRROR_MIRROR_FILE_INSIDE_H
#define CORE_MIRROR_MIRROR_FILE_INSIDE_H

#include "core/mirror/mirror_file.h"

/* From errno; `what` was being done to `path`. */
int files_fault(struct fault *f, const char *what, const char *path);

/* openat2() that neither leaves `root` nor follows a symlink. */
int files_open_below(int root, const char *path, int flags);

/* What stands at `name` is not what the mirror needs there: a person's file, or a
 * planted symlink.  It is renamed; 0, or -1 with errno. */
int files_move_aside(int dir, const char *name);

/* The folder's descriptor, borrowed until another one is asked for; -1 with
 * errno.  Looking only, a folder that is not there is ENOENT. */
int files_folder(struct files *fs, const char *path, bool make);

/* All bytes of an open file: 0 or -1 with errno. */
int files_read_whole(int fd, struct text *out);

/* A file, new or written over, whole or not at all (but for a crash): 0 or -1
 * with errno. */
int files_write(int dir, const char *name, const struct text *text, bool sync);

/* Removes the files that wait to be written over. */
void files_drop_spares(struct files *fs);

/* files_list() of a folder that is open. */
int files_list_open(int fd, int (*each)(void *with, const char *name), void *with);

#endif
