/*
 * access_door - which callers may use a member's HTTP door.
 *
 * A token for a door is NAME.HEX. NAME is the caller's name. HEX is derived from the state's
 * secret and from the rows and generations of the caller and of the door's member. Only a
 * process that can read the state's secret can derive HEX. No row and no file stores the token.
 * A teammate at whose door the token was shown can pose as the caller only at this door.
 */
#ifndef CORE_ACCESS_ACCESS_DOOR_H
#define CORE_ACCESS_ACCESS_DOOR_H

#include "core/call/call.h"

/* Splits a token that a caller showed at a door. `name` is in the arena. Returns false if the
 * text is not a token for a door. */
bool door_split(struct arena *a, const char *token, const char **name, const char **hex);

/* Finds the agent that identity->agent names, and fills `who`. Checks that identity->token is
 * the agent's token for the door that identity->door names, and that this door is open to the
 * agent. Returns 1, or `denied`. The fault is at /door, or at "" if the network policy forbids
 * the call. */
int door_find(struct call *call, const char *team, struct caller_row *who);

/* Finds whether the agent's workspace, the agent's team and the teams above that team let other
 * agents call the agent's door. Sets `*yes`; returns 0 or negative. */
int door_is_open(struct call *call, int64_t team, int64_t agent, bool *yes);

#endif
