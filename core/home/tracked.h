/*
 * tracked - whether git tracks anything in a folder.
 *
 * Files that git tracks come with a clone and are replaced by a pull, also in a folder
 * that ignores itself.  The indexes of all repositories around the folder are read
 * (core/home/git_index.h): `git` is not run, since the repository's own configuration
 * would choose what that runs, and git need not be there.
 */
#ifndef CORE_HOME_TRACKED_H
#define CORE_HOME_TRACKED_H

#include <stdbool.h>

enum tracked { TRACKED_NOTHING, TRACKED_SOME, TRACKED_UNREADABLE };

/* Whether git tracks files in `folder`, which is absolute and without links above its
 * last name. */
enum tracked tracked_look(const char *folder);

/* Whether any repository is around the folder, so that git may write there. */
bool tracked_may_be(const char *folder);

enum { TRACKED_SUM = 64 }; /* digits */

/* Computes the sum of the files that git tracks in the folder (the entries of the
 * indexes) and of its settings (`cadre.toml`).  For an index that cannot be read, its
 * inode, size and times are used: each change is seen. */
void tracked_sum(const char *folder, char sum[TRACKED_SUM + 1]);

/* The sum of the folder's settings alone. */
void tracked_sum_settings(const char *folder, char sum[TRACKED_SUM + 1]);

#endif
