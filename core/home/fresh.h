/*
 * fresh - a project's folder that is about to become a state.
 */
#ifndef CORE_HOME_FRESH_H
#define CORE_HOME_FRESH_H

#include "core/base/fault.h"

/* Checks that `cadre init` may make the state `path`: the path is free, is this user's
 * state, or is his folder with at most settings in it.  0 or a fault. */
int fresh_check(const char *path, struct fault *f);

#endif
