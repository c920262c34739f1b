/*
 * ignore - the `.gitignore` of a state folder, which keeps its files out of git.
 *
 * Without it `git add -A` takes the secret and the messages along.  A branch, a stash or
 * an archive can bring another one or take it away, so each verb that finds a state in a
 * project looks at it.
 */
#ifndef CORE_HOME_IGNORE_H
#define CORE_HOME_IGNORE_H

#include <stdbool.h>

/* Puts the right one in place in the folder open as `dir` where it is missing or another
 * one: true if another one was there.  Where nothing can be written nothing is done. */
bool ignore_keep(int dir);

#endif
