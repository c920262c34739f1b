/*
 * project - the worktrees of git: which worktrees share a state, and how file paths are
 * written.
 *
 * All worktrees of a repository share the folder that git's file `commondir` names. The state
 * of these worktrees is in the main worktree. The main worktree is one of three folders:
 *
 * - the parent of a shared folder that is named `.git`;
 * - else a folder with a state of this user, and with a `.git` file that names the shared
 *   folder. (Examples are `git init --separate-git-dir`, submodules, and bare repositories with
 *   a `.git` file.)
 * - else the shared folder itself, as in a bare repository.
 *
 * A `.git` file may have come with an archive and name any folder. So a `.git` file alone is
 * not trusted: the repository must name the worktree too.
 *
 * Paths are relative to the top of the worktree, so that a file has the same path in all
 * worktrees of a repository. Outside of worktrees, paths are relative to the folder with the
 * state, else to the folder project.here. A submodule is part of the worktree that contains it.
 */
#ifndef CORE_HOME_PROJECT_H
#define CORE_HOME_PROJECT_H

#include "core/home/home.h"

/* --- worktrees ------------------------------------------------------------------------- */

/* Reads the path that the file `dir`/.git names. Returns false if the file does not exist or
 * names no path. */
bool project_git(const char *dir, char out[4096]);

enum top { TOP_NONE, TOP_TREE, TOP_STRAY };

/* Whether `dir` is the top of a worktree. `root` gets the folder whose `.cadre` the worktree
 * shares. TOP_STRAY: `dir` names a repository that does not list this worktree. If the file of
 * known states cannot be read, `f` is filled and `root` may be wrong. */
enum top project_top(const char *dir, char root[4096], struct fault *f);

/* The name of the branch that is checked out in the worktree `dir`. Returns false if `dir` is the
 * top of no worktree, or no branch is checked out. */
bool project_branch(const char *dir, char out[256]);

/* --- paths ----------------------------------------------------------------------------- */

struct project {
	char here[4096]; /* folder to which the user's relative paths are relative */
	char top[4096];
};

/* Finds the project around the working directory. Returns false if the working directory is
 * unknown. */
bool project_here(struct project *p, const struct home *h);
/* Does the same as project_here(), for paths that are relative to the folder `at`. If the
 * worktree around `at` belongs to the same repository, the top of that worktree is used.
 * Otherwise the top around the working directory is used. */
bool project_at(struct project *p, const struct home *h, const char *at);

/* Writes a path, or a glob, relative to the top and without `.` and `..`. Returns false if the
 * path is not below the top. A path in another worktree of the same repository is written
 * relative to the top of that other worktree, even if the other worktree lies inside the
 * project. Links are resolved only if the path with its links is not below the top. */
bool project_path(const struct project *p, const char *given, char out[4096]);
/* Does the same as project_path(), but always resolves the links of the path. */
bool project_path_led(const struct project *p, const char *given, char out[4096]);

#endif
