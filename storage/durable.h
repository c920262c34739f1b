/*
 * durable - functions that sync files and names to the disk before a call reports success.
 *
 * The rule for all code that makes, names, moves or removes a file:
 *
 *	1. content: fsync() of the file, or tree_sync() of a folder with its content;
 *	2. the entry: mkdir(), link(), symlink(), rename() or unlink();
 *	3. fsync() of the folder that holds the entry; if rename() moved the entry to another
 *	   folder, fsync() of the new folder, then of the old folder;
 *	4. only after these steps: write a row, send an answer, or remove a replaced file.
 *
 * A file that is written without these steps may be lost at a power failure. Without step 1,
 * the new name may name an empty file. Without step 3, the new name may be missing. SQLite
 * follows the rule for its own files. The rule is not needed for derived files, which are made
 * anew if they are missing: search.db, locks, sockets and logs.
 *
 * All functions return 0, or -1 with errno set.
 */
#ifndef STORAGE_DURABLE_H
#define STORAGE_DURABLE_H

#include <sys/types.h>

/* Syncs the entries of the open folder `fd`, which may be opened with O_PATH. */
int dir_sync(int fd);
/* Syncs the entries of the folder `path`. */
int dir_sync_path(const char *path);
/* Syncs the entries of the folder that holds `path`; `path` itself may be missing. */
int dir_sync_above(const char *path);

/* Makes a folder, or accepts an existing folder, and syncs the folder's entry.  The entry of an
 * existing folder is synced too, since the process that made the folder may have been killed
 * before its sync. */
int dir_make(const char *path, mode_t mode);
/* Makes a folder, or accepts an existing folder, without a sync. The function is used for a
 * folder whose content may be lost. */
int dir_have(const char *path, mode_t mode);
/* Makes the folder `path` as dir_make() does, and also the missing folders above. */
int dir_make_all(const char *path, mode_t mode);

/* Syncs a folder and everything below it, by syncfs(). On ext4, syncfs() takes 20 ms for 2,000
 * files of 4 KiB. An fsync() of each file takes 0.4 s in total, or 3 s while other processes
 * write. tree_sync() also waits until the writes of other processes to the file system are
 * synced. */
int tree_sync(const char *path);

/* Writes all bytes, even if signals interrupt the writing. Syncs nothing. */
int fd_write_all(int fd, const char *data, size_t len);

#endif
