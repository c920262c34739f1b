/*
 * wal_vfs - a VFS that writes a commit's frames to the WAL at once, and lets readers wait.
 *
 * SQLite writes each frame by two calls: a header of 24 bytes and the page.  A commit of 60
 * pages makes 120 calls.  This VFS lies over another VFS.  It gathers the frames up to the
 * frame that commits, and writes them at once.  A frame's header says whether the frame commits
 * ("WAL Format" in SQLite's file format).  No other connection reads a frame before its commit.
 * A frame that this connection reads back is written first.  So the effect is the same as with
 * single writes.
 *
 * For the database's own file, this VFS passes all calls to the VFS below, except for one lock.
 * This lock would turn readers away while the shared memory is made anew.  All other files
 * belong to the VFS below alone.
 */
#ifndef STORAGE_WAL_VFS_H
#define STORAGE_WAL_VFS_H

#include <sqlite3.h>
#include <stdint.h>

/* The name of a gathering VFS over the VFS `below` (NULL: the default VFS).  The gathering VFS
 * is registered on first use.  Returns NULL if it cannot be registered. */
const char *wal_vfs_over(const char *below);

/* The number of syncs of a WAL since the WAL was opened.  `ns` gets the total time of these
 * syncs.  Returns 0 for a file of another VFS. */
int64_t wal_vfs_syncs(sqlite3_file *f, int64_t *ns);

#endif
