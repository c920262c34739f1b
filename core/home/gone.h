/*
 * gone - a state of the project that was noted and is there no more.
 *
 * A project's own state may have been moved or removed (`git clean -fdx`).  Or git's
 * folder of a linked worktree is gone, so that no path leads to the state.  The user's
 * own state must not take the place of the project's state: nobody would look for the
 * project's data there.
 */
#ifndef CORE_HOME_GONE_H
#define CORE_HOME_GONE_H

#include "core/base/fault.h"

/* Checks whether a state is missing.  `dir` is absolute and without links, and no state
 * was found above it: a fault if there was one, or if the file that leads to it is
 * broken; else 0. */
int gone_check(const char *dir, struct fault *f);

#endif
