/*
 * durable - what is called done is on the disk.
 *
 * The rule, for everything that makes, names, moves or removes a file:
 *
 *	1. content: fsync() of the file, or tree_sync() of a folder with all in it;
 *	2. the entry: mkdir, link, symlink, rename or unlink;
 *	3. fsync() of the folder that holds the entry; after a rename between two
 *	   folders of the one it went to, then of the one it came from;
 *	4. only then a row, an answer, or the removal of what it replaces.
 *
 * A power failure keeps nothing else: a new name without 1 is an empty file, and
 * without 3 no name.  SQLite keeps the rule for its own files.  What is derived and
 * made anew when it is missing (search.db, locks, sockets, logs) needs none.
 *
 * All return 0, or -1 with errno set.
 */
#ifndef STORAGE_DURABLE_H
#define STORAGE_DURABLE_H

#include <sys/types.h>

/* The entries of an open folder, which may be open with O_PATH. */
int dir_sync(int fd);
/* The entries of the folder `path`. */
int dir_sync_path(const char *path);
/* The entries of the folder that holds `path`, which need not be there. */
int dir_sync_above(const char *path);

/* Makes a folder; one that is there is success.  Its entry is on the disk in any
 * case: whoever made it may have been killed before he got to that. */
int dir_make(const char *path, mode_t mode);
/* The same, with what is missing above it. */
int dir_make_all(const char *path, mode_t mode);

/* All that is in a folder, with the folders below it.  It is syncfs(): 2,000 files
 * of 4 KiB take 20 ms on ext4 so, one fsync() for each 0.4 s and, beside other
 * writers, 3 s.  It also waits for what others wrote to this file system. */
int tree_sync(const char *path);

#endif
