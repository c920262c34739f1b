/*
 * golden - checks a person's folder before the folder is copied to make workspaces.
 */
#ifndef CORE_MACHINE_GOLDEN_H
#define CORE_MACHINE_GOLDEN_H

#include "core/base/fault.h"

/* Refuses a folder whose `.git` leads to a repository outside of the folder, as in a linked
 * worktree or a submodule. In each copy git would work on that outer repository, and a commit
 * in a copy would move a branch of the outer repository. If `path` is not a folder, this
 * function returns 0, and the later copy fails. The fault names the argument `where`. */
int golden_check(const char *path, const char *where, struct fault *f);
/* Refuses a path that is no folder. The fault names the argument `where`. */
int folder_check(const char *path, const char *where, struct fault *f);

#endif
