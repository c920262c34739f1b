/*
 * known_sum - the sum that a state is noted with: of its settings, and of what git tracks in
 * one that is trusted.
 */
#ifndef KNOWN_SUM_H
#define KNOWN_SUM_H

#include "core/host/known.h"

/* The sum of what is in the folder `path` now, of a state that is known like this. */
void known_take_sum(enum known_how how, const char *path, char sum[TRACKED_SUM + 1]);

/* Whether settings, or what git tracks in what is trusted, are others than noted, and git
 * may have changed them. */
bool known_is_changed(const struct known *noted, const char *path);

/* Whether the note of one that is not changed in this way needs another sum. */
bool known_wants_sum(const struct known *noted, const char *path);

#endif
