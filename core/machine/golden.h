/*
 * golden - folders of a person's that workspaces are copies of.
 */
#ifndef CORE_MACHINE_GOLDEN_H
#define CORE_MACHINE_GOLDEN_H

#include "core/base/fault.h"

/* Refuses a folder whose `.git` leads to a repository elsewhere, as in a linked worktree or
 * a submodule: git would work on that repository in each copy, and a commit there would
 * move its branch.  A folder that is not there, or is none, is the copier's to tell.  The
 * fault is at `where`. */
int golden_check(const char *path, const char *where, struct fault *f);
/* Refuses what is no folder, at `where`. */
int folder_check(const char *path, const char *where, struct fault *f);

#endif
