/*
 * access_door - the callers who may come to a member's HTTP door.
 *
 * A token for a door is NAME.HEX: the caller's name and what only the host can
 * derive of its row and generation and those of the member whose door it is.
 * Nobody keeps it; a teammate who was shown it can come as that caller to its own
 * door alone.
 */
#ifndef CORE_ACCESS_ACCESS_DOOR_H
#define CORE_ACCESS_ACCESS_DOOR_H

#include "core/call/call.h"

/* Splits a token that came at a door; `name` is of the arena. False: it is none. */
bool door_split(struct arena *a, const char *token, const char **name, const char **hex);

/* Finds the agent that identity->agent names, and fills `who`.  Checks that
 * identity->token is the agent's token for the door that identity->door names, and that
 * this door is open to the agent.  1, or `denied` (at /door; at "" where the network
 * policy forbids the call). */
int door_find(struct call *call, const char *team, struct caller_row *who);

/* Finds whether the agent's workspace, its team and the teams above let others come to
 * its door: `*yes`, and 0 or negative. */
int door_is_open(struct call *call, int64_t team, int64_t agent, bool *yes);

#endif
