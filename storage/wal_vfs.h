/*
 * wal_vfs - a commit's frames in the WAL by one write.
 *
 * SQLite writes each frame by two calls, a header of 24 bytes and the page; a
 * commit of 60 pages makes 120.  In a VFS over another one, they are gathered
 * until the frame that commits (the header says so: "WAL Format" in SQLite's
 * file format), and written at once.  No other connection looks at a frame
 * before it is committed, and what this one reads back is written first, so it
 * is as if they had been written one by one.  Files other than a WAL are the
 * VFS's below.
 */
#ifndef WAL_VFS_H
#define WAL_VFS_H

/* The name of such a VFS over `below` (NULL: the default one), registered on
 * first use; NULL where that is not possible. */
const char *wal_vfs_over(const char *below);

#endif
