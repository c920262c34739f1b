/*
 * durable - functions that bring files and names to the disk before work is called
 * done.
 *
 * The rule, for everything that makes, names, moves or removes a file:
 *
 * 	1. content: fsync() of the file, or tree_sync() of a folder with all in it;
 * 	2. the entry: mkdir, link, symlink, rename or unlink;
 * 	3. fsync() of the folder that holds the entry; after a rename between two
 * 	   folders of the one it went to, then of the one it came from;
 * 	4. only then a row, an answer, or the removal of what it replaces.
 *
 * A power failure keeps nothing else: a new name without 1 is an empty file, and
 * without 3 no name.  SQLite keeps the rule for its own files.  Derived files that are
 * made anew when they are missing (search.db, locks, sockets, logs) need none of this.
 *
 * All return 0, or -1 with errno set.
 */
#ifndef STORAGE_DURABLE_H
#define STORAGE_DURABLE_H

#include <sys/types.h>

/* Syncs the entries of an open folder, which may be open with O_PATH. */
int dir_sync(int fd);
/* Syncs the entries of the folder `path`. */
int dir_sync_path(const char *path);
/* Syncs the entries of the folder that holds `path`; `path` itself may be missing. */
int dir_sync_above(const char *path);

/* Makes a folder, or accepts one that exists, and syncs its entry: another process may
 * have made the folder and been killed before its sync. */
int dir_make(const char *path, mode_t mode);
/* The same without the sync, of a folder that holds nothing to keep. */
int dir_have(const char *path, mode_t mode);
/* dir_make() that also makes missing folders above it. */
int dir_make_all(const char *path, mode_t mode);

/* Syncs a folder and everything below it, by syncfs(): on ext4 2,000 files of 4 KiB take
 * 20 ms so, but 0.4 s with an fsync() for each, and 3 s beside other writers.
 * tree_sync() also waits for the writes of other processes to this file system. */
int tree_sync(const char *path);

/* Writes all bytes, also when signals come in between; syncs nothing. */
int fd_write_all(int fd, const char *data, size_t len);

#endif
