/*
 * hosted_door - the host's side of the HTTP doors of guests.
 *
 * A guest names in its Hello the address of its door. The guest passes each request at the door
 * to the host as a Call with the token of the request's sender. A Call with a sender's token
 * runs as the token's agent. At a door only three things are allowed: to look up the door's
 * agent, to send to this agent, and to receive for this agent.
 */
#ifndef CORE_HOST_GUESTS_HOSTED_DOOR_H
#define CORE_HOST_GUESTS_HOSTED_DOOR_H

#include <jansson.h>

#include "core/call/call.h"

struct conn;
struct hosted_guest;

/* Stores the door's address, which the guest's Hello named; NULL: the Hello names no door. */
void door_hear(struct hosted_guest *t, const char *address);
/* Base URL of the door; "": the guest has no door, or the host does not know the door's
 * address. */
const char *door_url(const struct hosted_guest *t, struct arena *a);

/* Checks that `op` may be called at a door, and sets the door's owner in `args`. */
int door_limit(const struct conn *c, const struct op *op, json_t *args, const char *token,
	       struct fault *f);
/* Makes the token's agent the caller of `call`. The token is checked when the call runs. */
void door_identify(const struct conn *c, struct call *call, const char *token);

#endif
