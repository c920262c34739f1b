/*
 * project - paths as they are told from the top of a project.
 *
 * The top is that of the worktree of git, so that all worktrees of a repository call a file
 * alike; outside of any it is the folder with the state, else the folder itself.  A submodule
 * is part of the worktree that it is in.
 */
#ifndef CORE_HOME_PROJECT_H
#define CORE_HOME_PROJECT_H

#include "core/home/home.h"

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
