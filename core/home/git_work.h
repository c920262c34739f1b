/*
 * git_work - says what git would say of the work in a workspace.
 *
 * Files are compared by size and time with `.git/index`, the commit with the one that the
 * workspace had when it was made.  No git is run, and links are not followed: the
 * workspace's repository is not to be trusted.
 */
#ifndef CORE_HOME_GIT_WORK_H
#define CORE_HOME_GIT_WORK_H

#include <stdint.h>

#include "core/base/arena.h"

/* Words in memory of `a` for the folder `path`, such as "3 files changed, 2 not tracked,
 * commits of its own".  `stamp`, `since` and `most` are as in core/machine/work.h: files
 * that were not written since then do not count.  NULL: nothing can be said, since there is
 * no repository, its index is none that is known, or a repository is in another one.
 * Blocking: never from a loop. */
const char *git_work_tell(struct arena *a, const char *path, const char *stamp,
			  int64_t since, long most);

#endif
