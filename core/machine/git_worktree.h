/*
 * git_worktree - worktrees of a person's git repository, for agents that work beside him.
 *
 * git makes them: filters, sparse checkouts, hooks and object formats are git's alone.  A
 * worktree counts only when its checkout is whole and on the disk.  Until then the file
 * PATH.making stands beside it, and the next call removes what is there and begins anew.
 */
#ifndef CORE_MACHINE_GIT_WORKTREE_H
#define CORE_MACHINE_GIT_WORKTREE_H

#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/fault.h"

/* Makes a worktree of the repository in which this process is, at `path`, which is absolute,
 * on the branch `name`: a new one from HEAD, or the one that is there.  A worktree that is
 * there is kept.  git has `ms` milliseconds.  `said` is text that git printed and a person
 * should see, also with a fault; in the arena, NULL: none.  0 or a fault. */
int git_worktree_make(const char *name, const char *path, int64_t ms, struct arena *a,
		      const char **said, struct fault *f);

#endif
