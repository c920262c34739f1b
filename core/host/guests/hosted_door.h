/*
 * hosted_door - the HTTP doors of guests, as their host sees them.
 *
 * A guest names in its Hello the address of its door. It passes on the requests at the door as
 * Calls with the token of their sender. Such a Call runs in the name of the token's agent. It
 * may use only the operations of a door: look up the door's agent, send to it, or receive for
 * it.
 */
#ifndef CORE_HOST_GUESTS_HOSTED_DOOR_H
#define CORE_HOST_GUESTS_HOSTED_DOOR_H

#include <jansson.h>

#include "core/call/call.h"

struct conn;
struct hosted_guest;

/* Takes the door's address from the guest's Hello; NULL: the Hello names no door. */
void door_hear(struct hosted_guest *t, const char *address);
/* Base URL of the door, or "". */
const char *door_url(const struct hosted_guest *t, struct arena *a);

/* Checks that `op` may be called at a door, and sets the door's owner in `args`. */
int door_limit(const struct conn *c, const struct op *op, json_t *args, const char *token,
	       struct fault *f);
/* Makes the token's agent the caller; the token is checked when the call runs. */
void door_identify(const struct conn *c, struct call *call, const char *token);

#endif
