/*
 * tree - the worktrees of git, and which of them share a state.
 *
 * All worktrees of a repository share the folder that its `commondir` leads to.  Their
 * state is in the main worktree, which is one of three folders: the parent of a shared
 * folder that is named `.git`; else the folder with a state of this user's whose `.git`
 * file leads to the shared folder (`git init --separate-git-dir`, submodules, bare
 * repositories with such a `.git` file); else the shared folder itself, as in a bare
 * repository.
 *
 * A `.git` file may have come with an archive and lead anywhere, so it is not believed
 * alone: the repository must name the worktree too.
 */
#ifndef CORE_HOME_TREE_H
#define CORE_HOME_TREE_H

#include <stdbool.h>

#include "core/base/fault.h"

/* The path that the file `dir`/.git names; false where there is no such file. */
bool tree_git(const char *dir, char out[4096]);

/* Whether the tops of two worktrees are of one repository. */
bool tree_same(const char *a, const char *b);

/* Whether git's own folder of a repository, without links, is that of a submodule of the worktree
 * whose top this is. */
bool tree_has_module(const char *top, const char *git);

enum top { TOP_NONE, TOP_TREE, TOP_STRAY };

/* Whether `dir` is the top of a worktree, and in `root` the folder whose `.cadre` it
 * shares.  TOP_STRAY: `dir` names a repository that does not know it.  A fault is about
 * the file of known states: then `root` may not be the state's place. */
enum top tree_top(const char *dir, char root[4096], struct fault *f);

#endif
