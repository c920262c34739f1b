/*
 * project - the worktrees of git: which worktrees share a state, and how file paths are
 * written.
 *
 * All worktrees of a repository share the folder that `commondir` names. Their state is in the
 * main worktree. The main worktree is one of three folders:
 *
 * - the parent of a shared folder that is named `.git`;
 * - else the folder with a state of this user's whose `.git` file names the shared folder
 *   (`git init --separate-git-dir`, submodules, bare repositories with such a `.git` file);
 * - else the shared folder itself, as in a bare repository.
 *
 * A `.git` file may have come with an archive and name any folder. So the file alone is not
 * trusted: the repository must name the worktree too.
 *
 * Paths are relative to the top of the worktree, so that a file has the same path in all
 * worktrees of a repository. Outside of worktrees, paths are relative to the folder with the
 * state, else to the folder itself. A submodule is part of the worktree that contains it.
 */
#ifndef CORE_HOME_PROJECT_H
#define CORE_HOME_PROJECT_H

#include "core/home/home.h"

/* --- worktrees ------------------------------------------------------------------------- */

/* Reads the path that the file `dir`/.git names; false if there is no such file. */
bool project_git(const char *dir, char out[4096]);

enum top { TOP_NONE, TOP_TREE, TOP_STRAY };

/* Whether `dir` is the top of a worktree. `root` gets the folder whose `.cadre` the worktree
 * shares. TOP_STRAY: `dir` names a repository that does not list this worktree. A fault is
 * about the file of known states; then `root` may be wrong. */
enum top project_top(const char *dir, char root[4096], struct fault *f);

/* --- paths ----------------------------------------------------------------------------- */

struct project {
	char here[4096]; /* the folder in which paths are given */
	char top[4096];
};

/* Finds the project around the working directory; false if the working directory is unknown. */
bool project_here(struct project *p, const struct home *h);
/* Like project_here(), for paths that are relative to the folder `at`. If the worktree around
 * `at` is of the same repository, the top of that worktree is used; otherwise the top around
 * the working directory is used. */
bool project_at(struct project *p, const struct home *h, const char *at);

/* Writes a path, or a glob, relative to the top and without `.` and `..`; false if the path is
 * not below the top. For a path in another worktree of the same repository, the top of that
 * worktree counts, even if the worktree lies inside the project. Links are resolved only if the
 * path with its links is not below the top. */
bool project_path(const struct project *p, const char *given, char out[4096]);
/* Like project_path(), but always resolves the links of the path. */
bool project_path_led(const struct project *p, const char *given, char out[4096]);

#endif
