/*
 * gone - a state of the project that was noted and is there no more.
 *
 * Where a project had a state of its own, which was moved or removed (`git clean
 * -fdx`), or where git's folder of a linked worktree is gone, so that nothing leads to
 * the state, the user's own state must not take its place: nobody would look there for
 * what was written.
 */
#ifndef CORE_HOME_GONE_H
#define CORE_HOME_GONE_H

#include "core/base/fault.h"

/* Checks whether a state is missing.  `dir` is absolute and without links, and no state
 * was found above it: a fault if there was one, or if the file that leads to it is
 * broken; else 0. */
int gone_check(const char *dir, struct fault *f);

#endif
