/*
 * known_sum - the checksum in a state's note: of its settings and, for a trusted state,
 * of the files that git tracks in it.
 */
#ifndef CORE_HOME_KNOWN_SUM_H
#define CORE_HOME_KNOWN_SUM_H

#include "core/home/known.h"

/* Computes the sum of the folder `path` as it is now; `how` the state is known decides
 * whether tracked files are part of it. */
void known_take_sum(enum known_how how, const char *path, char sum[TRACKED_SUM + 1]);

/* Whether git may have changed the settings, or the tracked files of a trusted state,
 * since they were noted. */
bool known_is_changed(const struct known *noted, const char *path);

/* Whether the note needs a new sum though known_is_changed() says no: an older cadre took
 * none, or the user changed the settings where there is no git. */
bool known_wants_sum(const struct known *noted, const char *path);

#endif
