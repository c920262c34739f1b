/*
 * git_index - reads git's index: which files git tracks, in all or in one folder.
 *
 * Files that git tracks come with a clone and are replaced by a pull, also in a folder
 * that ignores itself.  `git` is not run, since the repository's own configuration would
 * choose what that runs, and git need not be there.
 *
 * Versions 2 to 4, with names of objects of SHA-1 and SHA-256.  A split index is read with
 * the shared one that it names, and with no other one that git has left.  Entries are
 * sorted, so that the reading ends soon.  A file of more than 512 MiB or four million
 * entries is not read.  Every byte may be an enemy's: all is checked and bounded.
 */
#ifndef CORE_HOME_GIT_INDEX_H
#define CORE_HOME_GIT_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tracked { TRACKED_NOTHING, TRACKED_SOME, TRACKED_UNREADABLE };

/* Whether git tracks files in `folder`, which is absolute and without links above its
 * last name.  The indexes of all repositories around the folder are read. */
enum tracked tracked_look(const char *folder);

/* Whether any repository is around the folder, so that git may write there. */
bool git_may_track(const char *folder);

enum { TRACKED_SUM = 64 }; /* digits */

/* Computes the sum of the folder's settings (`cadre.toml`) and, with `files`, of the files
 * that git tracks in the folder (the entries of the indexes).  For an index that cannot be
 * read, its inode, size and times are used: each change is seen. */
void git_tracked_sum(const char *folder, bool files, char sum[TRACKED_SUM + 1]);

#endif
