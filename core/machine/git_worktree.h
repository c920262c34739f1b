/*
 * git_worktree - worktrees of a person's git repository, for agents that work beside the
 * person.
 *
 * git makes the worktrees, so filters, sparse checkouts, hooks and object formats work as in
 * git. A worktree counts as made only if its checkout is complete and on the disk. Until the
 * checkout is complete, the file PATH.making is beside the worktree. A call that finds the file
 * PATH.making removes the incomplete worktree and begins anew.
 */
#ifndef CORE_MACHINE_GIT_WORKTREE_H
#define CORE_MACHINE_GIT_WORKTREE_H

#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/fault.h"

/* Makes a worktree at the absolute path `path`, for the repository that contains the working
 * directory. The worktree has the branch `name` checked out. If the branch does not exist, it
 * is made from HEAD. An existing worktree is kept. Each git command may run for `ms`
 * milliseconds. If git prints a text that a person should see, `*said` is set to the text, in
 * the arena, even after a fault. Returns 0 or a fault. */
int git_worktree_make(const char *name, const char *path, int64_t ms, struct arena *a,
		      const char **said, struct fault *f);

#endif
