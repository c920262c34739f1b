/*
 * hosted_door - the HTTP doors of guests, as their host sees them.
 *
 * A guest says in its Hello where its door listens, and passes on what comes in as
 * Calls with the token of who came.  Such a Call is that member's, and is held to
 * what may be done at a door: look the member there up, send to it, receive for it.
 */
#ifndef CORE_HOST_GUESTS_HOSTED_DOOR_H
#define CORE_HOST_GUESTS_HOSTED_DOOR_H

#include <jansson.h>

#include "core/call/call.h"

struct conn;
struct hosted_guest;

/* The guest's Hello said this; NULL: nothing. */
void door_hear(struct hosted_guest *t, const char *address);
/* Base URL of the door, or "". */
const char *door_url(const struct hosted_guest *t, struct arena *a);

/* Checks that `op` may be asked at a door, and sets in `args` whose door it is. */
int door_limit(const struct conn *c, const struct op *op, json_t *args, const char *token,
	       struct fault *f);
/* The call is the one's whose token it is, to be proven when it runs. */
void door_identify(const struct conn *c, struct call *call, const char *token);

#endif
