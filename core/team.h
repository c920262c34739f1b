/*
 * team - a named group with a state that is computed from its rows.
 */
#ifndef TEAM_H
#define TEAM_H

#include "core/event.h"

/* Emits team.state when the team's computed state is another than the last one
 * that was announced.  Whatever may have changed it calls this at its end. */
int team_announce(struct call *call, int64_t team);

/* The word of an enum's value, as a record's field has it. */
const char *word_of(const struct record *r, const char *field, int64_t value);

#endif
