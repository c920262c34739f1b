/*
 * known_sum - the sum that a state is noted with: of its settings, and of what git tracks in
 * one that is trusted.
 */
#ifndef CORE_HOME_KNOWN_SUM_H
#define CORE_HOME_KNOWN_SUM_H

#include "core/home/known.h"

/* Takes the sum of what is in the folder `path` now; `how` the state is known says of what. */
void known_take_sum(enum known_how how, const char *path, char sum[TRACKED_SUM + 1]);

/* Whether settings, or what git tracks in what is trusted, are others than noted, and git
 * may have changed them. */
bool known_is_changed(const struct known *noted, const char *path);

/* Whether the note needs another sum than it has, though known_is_changed() says no: an
 * older cadre took none, or the user changed the settings where there is no git. */
bool known_wants_sum(const struct known *noted, const char *path);

#endif
