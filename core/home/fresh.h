/*
 * fresh - a project's folder that is about to become a state.
 */
#ifndef CORE_HOME_FRESH_H
#define CORE_HOME_FRESH_H

#include "core/base/fault.h"

/* Whether `cadre init` may make the state `path`: it is not there, is this user's state,
 * or is his folder with nothing in it but settings. */
int fresh_check(const char *path, struct fault *f);

#endif
