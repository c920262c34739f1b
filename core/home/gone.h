/*
 * gone - a state of the project that was noted and is there no more.
 *
 * Where a project had a state of its own, which was moved or removed (`git clean -fdx`),
 * or where git's folder of a linked worktree is gone, so that nothing leads to the state,
 * the user's own state is not what is meant: what is written there nobody would find.
 */
#ifndef CORE_HOME_GONE_H
#define CORE_HOME_GONE_H

#include "core/base/fault.h"

/* For `dir`, absolute and without links, in which no state was found upward: a fault if
 * there was one, or what leads to it is gone. */
int gone_check(const char *dir, struct fault *f);

#endif
