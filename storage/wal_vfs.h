/*
 * wal_vfs - a commit's frames in the WAL by one write, and readers that wait.
 *
 * SQLite writes each frame by two calls, a header of 24 bytes and the page; a
 * commit of 60 pages makes 120.  In a VFS over another one, they are gathered
 * until the frame that commits (the header says so: "WAL Format" in SQLite's
 * file format), and written at once.  No other connection reads a frame before its
 * commit, and a frame that this connection reads back is written first.  So the effect is
 * the same as with single writes.
 *
 * Of the database's own file it passes everything on but for one lock, which would
 * turn readers away while the shared memory is made anew.  Other files are the VFS's
 * below.
 */
#ifndef STORAGE_WAL_VFS_H
#define STORAGE_WAL_VFS_H

#include <sqlite3.h>
#include <stdint.h>

/* The name of such a VFS over `below` (NULL: the default one), registered on
 * first use; NULL where that is not possible. */
const char *wal_vfs_over(const char *below);

/* The number of syncs of a WAL since it was opened, and their total time; 0 for a file of
 * another VFS. */
int64_t wal_vfs_syncs(sqlite3_file *f, int64_t *ns);

#endif
