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

/* Writes the right .gitignore into the folder open as `dir` where it is missing or
 * differs: true if a different one was there.  Does nothing where nothing can be
 * written. */
bool ignore_keep(int dir);

#endif
