/*
 * project - the worktrees of git: which of them share a state, and how paths are told in them.
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
 *
 * Paths are told from the top of the worktree, so that all worktrees of a repository call a
 * file alike; outside of any it is the folder with the state, else the folder itself.  A
 * submodule is part of the worktree that it is in.
 */
#ifndef CORE_HOME_PROJECT_H
#define CORE_HOME_PROJECT_H

#include "core/home/home.h"

/* --- worktrees ------------------------------------------------------------------------- */

/* The path that the file `dir`/.git names; false where there is no such file. */
bool project_git(const char *dir, char out[4096]);

enum top { TOP_NONE, TOP_TREE, TOP_STRAY };

/* Whether `dir` is the top of a worktree, and in `root` the folder whose `.cadre` it
 * shares.  TOP_STRAY: `dir` names a repository that does not know it.  A fault is about
 * the file of known states: then `root` may not be the state's place. */
enum top project_top(const char *dir, char root[4096], struct fault *f);

/* --- paths ----------------------------------------------------------------------------- */

struct project {
	char here[4096]; /* the folder in which paths are given */
	char top[4096];
};

/* The project around the working directory; false where that cannot be told. */
bool project_here(struct project *p, const struct home *h);
/* The same for paths that are given in another folder: from the top there if that is a worktree of the
 * same repository, else from the top around the working directory. */
bool project_at(struct project *p, const struct home *h, const char *at);

/* Writes a path, or a glob, as it is from the top, without `.` and `..`; false where it is
 * not below the top.  In another worktree of the same repository that one's top counts, also
 * where it lies inside the project.  Links count where the path leads out without them. */
bool project_path(const struct project *p, const char *given, char out[4096]);
/* The same for where a path leads when its links are followed. */
bool project_path_led(const struct project *p, const char *given, char out[4096]);

#endif
