/*
 * changed - whether somebody worked in a folder since it was made.
 */
#ifndef CORE_MACHINE_CHANGED_H
#define CORE_MACHINE_CHANGED_H

#include <stdbool.h>
#include <stdint.h>

/* Whether a file below the folder was written after `since` (ms since 1970); the guest's
 * own `.cadre` does not count.  Links are not followed, and no program is run: what is in
 * there is not to be trusted.  A folder too large to look through counts as changed, one
 * that is not there does not.  Blocking: never from a loop. */
bool changed_since(const char *path, int64_t since);

#endif
