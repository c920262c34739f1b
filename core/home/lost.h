/*
 * lost - a state folder whose state.db or secret is gone.
 *
 * A folder that does not exist, or holds nothing of cadre's, is where a state may be
 * made.  One that holds what only a state leaves there, but not its state.db, is that
 * of a state which was lost: none is made in its place unasked, since whoever calls
 * would be answered that there is nothing.  `cadre.toml` does not count: people write
 * it before there is a state.
 *
 * So that this can be told from a state that is being made, state.db is the first file of
 * a new one: it is made empty, and stays so until a store is opened there.
 */
#ifndef CORE_HOME_LOST_H
#define CORE_HOME_LOST_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/fault.h"

/* Whether the state in the folder `dir` was lost; `left` (may be NULL) gets the names
 * of what is still there. */
bool lost_look(const char *dir, char *left, size_t room);

/* Whether a state that holds something is there without its secret.  A new one would void
 * the tokens of all agents, so that none is made unasked either. */
bool lost_secret(const char *dir);

/* Says so, and what to do. */
int lost_refuse(const char *dir, struct fault *f);

/* Makes the empty state.db of a new state; one that is there is left as it is. */
int lost_make_empty(const char *dir, struct fault *f);

/* Whether a state that holds something is in `dir`. */
bool lost_has_state(const char *dir);

#endif
