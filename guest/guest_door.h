/*
 * guest_door - the socket at which commands of the workspace reach its host.
 *
 * The door is a Unix socket, named by CADRE_SOCKET in the environment of the commands. It
 * accepts the same messages as a host's own socket: Hello, Call and the older messages. The
 * guest passes the requests on to the host: see guest_ask.h.
 */
#ifndef GUEST_GUEST_DOOR_H
#define GUEST_GUEST_DOOR_H

#include "guest/guest_ask.h"
#include "guest/guest_peer.h"

/*
 * confirm - answers at the door whose arrival is confirmed by their callers.
 *
 * The host holds the messages and claims of such an answer until the host gets Arrived or
 * Cancel, under the guest's own id of the request. A caller at the door sends Arrived or Cancel
 * under the caller's own id.
 */

/* Tells the host that the caller left, and may or may not have read its answers. */
void door_confirms_drop(struct peer *peer);

struct wire_hello;

/* Opens the door's socket in `folder`, beside the guest's other sockets. Returns 0 or a fault. */
int door_open(struct guest *g, const char *folder, struct fault *f);

/* Serves a request of a command. Returns 0, or a negative fault code with `f` filled. */
int door_serve(struct guest_request *q, struct fault *f);

/* Called when a peer has sent Hello (came), and when a connection is closed (went). Both act
 * only for the host's control line. */
void door_host_came(struct peer *peer, const struct wire_hello *hello);
void door_host_went(struct peer *peer);

#endif
