/*
 * golden - a person's folders that are copied to make workspaces.
 */
#ifndef CORE_MACHINE_GOLDEN_H
#define CORE_MACHINE_GOLDEN_H

#include "core/base/fault.h"

/* Refuses a folder whose `.git` leads to a repository outside of the folder, as in a linked
 * worktree or a submodule. Git would work on that repository in each copy, and a commit in a
 * copy would move a branch of that repository. If the folder is missing or is no folder, this
 * function returns 0, and the copying reports the fault. A fault names the argument `where`. */
int golden_check(const char *path, const char *where, struct fault *f);
/* Refuses a path that is no folder. The fault names the argument `where`. */
int folder_check(const char *path, const char *where, struct fault *f);

#endif
