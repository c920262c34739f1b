/*
 * lost - a state folder whose state.db or secret is gone.
 *
 * A folder that does not exist, or holds nothing of cadre's, is where a state may be
 * made.  A folder that holds files which only a state leaves, but no state.db, is a lost
 * state.  No new state is made in its place unasked, since callers would then find it
 * empty.  `cadre.toml` does not count: people write it before there is a state.
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

/* Whether there is a state with data but without its secret.  A new secret would void the
 * tokens of all agents, so none is made unasked. */
bool lost_secret(const char *dir);

/* Fills a fault that says that the state was lost, and what to do. */
int lost_refuse(const char *dir, struct fault *f);

/* Makes the empty state.db of a new state, unless there is a state.db: 0 or a fault. */
int lost_make_empty(const char *dir, struct fault *f);

/* Whether the folder `dir` has a state with data. */
bool lost_has_state(const char *dir);

#endif
