/*
 * git_worktree - worktrees of a person's git repository, for agents that work beside him.
 *
 * By libgit2, which is opened when it is needed: git_worktree_make() says which package has it.
 */
#ifndef CORE_MACHINE_GIT_WORKTREE_H
#define CORE_MACHINE_GIT_WORKTREE_H

#include "core/base/fault.h"

/* Makes a worktree of the repository in which the folder `from` is, on a new branch called
 * `name`, at `path`, which is absolute; one that is there is kept.  A branch of that
 * name is a conflict: it may hold work.  0 or a fault. */
int git_worktree_make(const char *from, const char *name, const char *path,
		      struct fault *f);

#endif
