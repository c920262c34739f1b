/*
 * guest_door - the socket by which commands of a workspace reach the host.
 *
 * The door is a Unix socket. The variable CADRE_SOCKET in the environment of commands contains
 * the path of the door. The door accepts the same messages as a host's own socket, for example
 * Hello, Call, Arrived, Cancel and the messages of the older dialect. The guest passes the
 * requests on to the host by the functions of guest_ask.h.
 */
#ifndef GUEST_GUEST_DOOR_H
#define GUEST_GUEST_DOOR_H

#include "guest/guest_ask.h"
#include "guest/guest_peer.h"

/*
 * confirm - tells the host whether answers have arrived at callers.
 *
 * If a caller at the door confirms answers, the host holds each answer's messages and claims
 * for the caller. The host holds these messages and claims until the guest sends Arrived or
 * Cancel, or until the host takes the answer back. The guest sends Arrived or Cancel with the
 * guest's own id of the request. A caller at the door sends Arrived or Cancel with the caller's
 * own id of the request.
 */

/* Tells the host that the caller `peer` left, and that this caller may have read its
 * unconfirmed answers. */
void door_confirms_drop(struct peer *peer);

struct wire_hello;

/* Opens the door's socket in `folder`, beside the guest's other sockets. Returns 0 or a fault. */
int door_open(struct guest *g, const char *folder, struct fault *f);

/* Serves a request that a command of the workspace sent. Returns 0, or fills `f` and returns
 * the negative code of `f`. */
int door_serve(struct guest_request *q, struct fault *f);

/* door_host_came() is called when a peer has sent Hello. door_host_went() is called when the
 * connection of a peer is closed. Both do nothing unless the peer is the host's control
 * connection. */
void door_host_came(struct peer *peer, const struct wire_hello *hello);
void door_host_went(struct peer *peer);

#endif
