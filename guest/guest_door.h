/*
 * guest_door - where commands of the workspace reach its host.
 *
 * A Unix socket, named in CADRE_SOCKET of their environment, that understands
 * what a host's own socket does: Hello, Call and the older messages.  The host
 * is asked for them: see guest_ask.h.
 */
#ifndef GUEST_GUEST_DOOR_H
#define GUEST_GUEST_DOOR_H

#include "guest/guest_ask.h"
#include "guest/guest_peer.h"

/*
 * confirm - answers at the door whose callers say whether they arrived.
 *
 * The host keeps what such an answer gave until the host hears Arrived or Cancel, under
 * the guest's own id of the request.  A caller at the door says Arrived or Cancel under the
 * caller's own id.
 */

/* Tells the host that the caller left: it may or may not have seen its answers. */
void door_confirms_drop(struct peer *peer);

struct wire_hello;

/* Opens the socket beside the guest's own ones at `folder`: 0 or a fault. */
int door_open(struct guest *g, const char *folder, struct fault *f);

/* Serves a request of a command: 0, or a negative fault code with `f` filled. */
int door_serve(struct guest_request *q, struct fault *f);

/* Called when the host has said Hello on this control line, and when a line is closed. */
void door_host_came(struct peer *peer, const struct wire_hello *hello);
void door_host_went(struct peer *peer);

#endif
