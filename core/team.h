/*
 * team - a named group with a state that is computed from its rows.
 */
#ifndef CORE_TEAM_H
#define CORE_TEAM_H

#include "core/event.h"

/* Emits team.state when the team's computed state is another than the last one
 * that was announced.  Whatever may have changed it calls this at its end. */
int team_announce(struct call *call, int64_t team);

/* What team.list tells, and how many tasks are open on all boards from in->offset on,
 * also on those that the answer has no room for. */
int team_lines(struct call *call, const struct team_list_in *in,
	       struct team_list_out *out, int64_t *open_tasks);

/* The word of an enum's value, as a record's field has it. */
const char *word_of(const struct record *r, const char *field, int64_t value);

#endif
