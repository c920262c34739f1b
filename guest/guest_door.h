/*
 * guest_door - where commands of the workspace reach its host.
 *
 * A Unix socket, named in CADRE_SOCKET of their environment, that understands
 * what a host's own socket does: Hello, Call and the older messages.  The host
 * is asked for them: see guest_ask.h.
 */
#ifndef GUEST_GUEST_DOOR_H
#define GUEST_GUEST_DOOR_H

#include "guest/guest_peer.h"

struct wire_hello;

/* Opens the socket beside the guest's own ones at `folder`: 0 or a fault. */
int door_open(struct guest *g, const char *folder, struct fault *f);

/* Serves a request of a command: 0, or a negative fault code with `f` filled. */
int door_serve(struct guest_request *q, struct fault *f);

/* Called when the host has said Hello on this control line, and when a line is closed. */
void door_host_came(struct peer *peer, const struct wire_hello *hello);
void door_host_went(struct peer *peer);

#endif
