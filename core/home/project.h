/*
 * project - paths as they are told from the top of the project around the working directory.
 *
 * The top is that of the worktree of git, so that all worktrees of a repository call a file
 * alike; outside of any it is the folder with the state, else the working directory.
 */
#ifndef CORE_HOME_PROJECT_H
#define CORE_HOME_PROJECT_H

#include "core/home/home.h"

/* Writes a path, or a glob, of the working directory as it is from the top, without `.` and
 * `..`; false where it is not below the top.  Links count where the path leads out without
 * them. */
bool project_path(const struct home *h, const char *given, char out[4096]);
/* The same for where a path leads when its links are followed. */
bool project_path_led(const struct home *h, const char *given, char out[4096]);

#endif
