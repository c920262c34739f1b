/*
 * tracked - whether git tracks anything in a folder.
 *
 * What git tracks comes with a clone and is replaced by a pull, also in a folder
 * that ignores itself.  The indexes of all repositories around the folder are read
 * (core/home/git_index.h): `git` is not run, since the repository's own configuration
 * would choose what that runs, and libgit2 need not be there.
 */
#ifndef CORE_HOME_TRACKED_H
#define CORE_HOME_TRACKED_H

#include <stdbool.h>

enum tracked { TRACKED_NOTHING, TRACKED_SOME, TRACKED_UNREADABLE };

/* `folder` is absolute, without links above its last name. */
enum tracked tracked_look(const char *folder);

/* Whether there is a repository around it at all, so that git may write there. */
bool tracked_may_be(const char *folder);

enum { TRACKED_SUM = 64 }; /* digits */

/* Sums up what git tracks in it, the entries of the indexes, and the settings
 * (`cadre.toml`) that are there.  Of an index that cannot be read it takes inode, size
 * and times: each change is seen. */
void tracked_sum(const char *folder, char sum[TRACKED_SUM + 1]);

/* Of the settings alone. */
void tracked_sum_settings(const char *folder, char sum[TRACKED_SUM + 1]);

#endif
