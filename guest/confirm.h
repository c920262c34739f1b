/*
 * confirm - answers at the door whose callers say whether they arrived.
 *
 * The host keeps what such an answer gave until it hears Arrived or Cancel under the
 * guest's own id of the request; a caller at the door says it under its own.
 */
#ifndef GUEST_CONFIRM_H
#define GUEST_CONFIRM_H

#include "guest/guest_ask.h"

/* Remembers that an answer was passed on, if its caller said that it confirms. */
void confirm_keep(struct guest_request *q);
/* Serves Arrived or Cancel of a caller, about a request of its own; ends the request. */
void confirm_hear(struct guest_request *q);
/* Tells the host that the caller left: it may or may not have seen its answers. */
void confirms_drop(struct peer *peer);

#endif
