/*
 * git_worktree - worktrees of a person's git repository, for agents that work beside the
 * person.
 *
 * git makes the worktrees, so filters, sparse checkouts, hooks and object formats work as in
 * git. A worktree counts only if its checkout is complete and on the disk. Until then the file
 * PATH.making is beside the worktree. The next call then removes the incomplete worktree and
 * begins anew.
 */
#ifndef CORE_MACHINE_GIT_WORKTREE_H
#define CORE_MACHINE_GIT_WORKTREE_H

#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/fault.h"

/* Makes a worktree at `path`, which is absolute, for the repository around the working
 * directory. The worktree is on the branch `name`: the existing branch, or a new branch from
 * HEAD. An existing worktree is kept. git may run for `ms` milliseconds. `said` gets the text
 * of git that a person should see, in the arena, even after a fault; NULL: git printed no text.
 * Returns 0 or a fault. */
int git_worktree_make(const char *name, const char *path, int64_t ms, struct arena *a,
		      const char **said, struct fault *f);

#endif
