/*
 * tracked - whether git tracks anything in a folder.
 *
 * What git tracks comes with a clone and is replaced by a pull, also in a folder
 * that ignores itself.  The index of the repository around the folder is read
 * (core/host/git_index.h): `git` is not run, since the repository's own configuration
 * would choose what that runs, and libgit2 need not be there.
 */
#ifndef TRACKED_H
#define TRACKED_H

enum tracked { TRACKED_NOTHING, TRACKED_SOME, TRACKED_UNREADABLE };

/* `folder` is absolute, without links above its last name. */
enum tracked tracked_look(const char *folder);

enum { TRACKED_SUM = 64 }; /* digits */

/* Sums up what git tracks in it: the entries of the index, and where there are any the
 * settings (`cadre.toml`) that are there.  "-": nothing is tracked.  Of an index that
 * cannot be read it takes inode, size and times, and the settings: each change of either
 * is seen. */
void tracked_sum(const char *folder, char sum[TRACKED_SUM + 1]);

#endif
