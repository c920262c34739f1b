/*
 * mirror_file_inside - paths and descriptors below the vault's root.
 */
#ifndef CORE_MIRROR_MIRROR_FILE_INSIDE_H
#define CORE_MIRROR_MIRROR_FILE_INSIDE_H

#include "core/mirror/mirror_file.h"

/* A fault from errno; `what` names the action on `path`. */
int files_fault(struct fault *f, const char *what, const char *path);

/* openat2() that neither leaves `root` nor follows a symlink. */
int files_open_below(int root, const char *path, int flags);

/* Renames an entry `name` that stands where the mirror needs its own, as a person's file
 * or a planted symlink: 0, or -1 with errno. */
int files_move_aside(int dir, const char *name);

/* Keeps the entry `name` of the folder `from` in `dir`, where FILE has its place: it gets
 * `.conflict` before the extension, numbered if that is taken.  0, or -1 with errno. */
int files_keep(struct files *fs, int from, const char *name, int dir, const char *file);

/* Opens (and if `make`, makes) a folder: its descriptor, borrowed until another folder is
 * asked for, or -1 with errno, ENOENT for a missing one. */
int files_folder(struct files *fs, const char *path, bool make);

/* The bytes of an open file, of one over FILES_TEXT not all, but more than that: 0 or -1 with
 * errno. */
int files_read_whole(int fd, struct text *out);

/* Writes a new file, or overwrites one: whole or not at all, except in a crash.  0, or -1
 * with errno. */
int files_write(int dir, const char *name, const struct text *text, bool sync);

/* Removes the files in the stage that could have been overwritten. */
void files_drop_spares(struct files *fs);

/* files_list() of a folder that is open. */
int files_list_open(int fd, int (*each)(void *with, const char *name), void *with);

#endif
