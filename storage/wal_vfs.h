/*
 * wal_vfs - a VFS that writes a commit's frames to the WAL together, and prevents needless
 * failures of readers.
 *
 * SQLite writes each frame by two calls, one for a header of 24 bytes and one for the page.
 * Without gathering, a commit of 60 pages needs 120 calls. This VFS lies over another VFS. The
 * frames of a commit are gathered up to the last frame, and written together, in pieces of at
 * most 128 KiB. The header of a frame marks the last frame of a commit ("WAL Format" in
 * SQLite's file format). No other connection reads a frame before its commit. If this
 * connection reads a gathered frame, all gathered frames are written first. Therefore gathered
 * writes have the same effect as single writes.
 *
 * For the database's own file, this VFS passes all calls to the VFS below, except for the lock
 * of byte 2 of the shared memory. The lock of byte 2 would make readers fail while the shared
 * memory is made anew. The VFS below alone handles all other files.
 */
#ifndef STORAGE_WAL_VFS_H
#define STORAGE_WAL_VFS_H

#include <sqlite3.h>
#include <stdint.h>

/* The name of a gathering VFS over the VFS `below` (NULL: the default VFS). The gathering VFS
 * is registered on first use. Returns NULL if this VFS cannot be registered. */
const char *wal_vfs_over(const char *below);

/* The number of syncs of a WAL since the WAL was opened.  `ns` gets the total time of the WAL's
 * syncs in nanoseconds.  Returns 0 for a file of another VFS. */
int64_t wal_vfs_syncs(sqlite3_file *f, int64_t *ns);

#endif
