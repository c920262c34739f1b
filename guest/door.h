/*
 * door - where commands of the workspace reach its host.
 *
 * A Unix socket, named in CADRE_SOCKET of their environment, that understands
 * what a host's own socket does: Hello, Call and the older messages.  Requests
 * go on the control line that the host has dialled, under ids of the guest's
 * own; answers come back there.  Who asks is known to the host by the line.
 */
#ifndef DOOR_H
#define DOOR_H

#include "guest/peer.h"

struct wire_hello;

/* A request of the guest that the host has not answered. */
struct asking {
	struct asking *next, **place;
	int64_t number;
	struct errand *q;
};

/* Opens the socket beside the guest's own ones at `folder`. */
int door_open(struct guest *g, const char *folder, struct fault *f);

/* Serves a request of a command. */
int door_serve(struct errand *q, struct fault *f);

/* Takes a message of the host that answers one of these; false: it is none. */
bool door_hear(struct errand *heard);

/* The host said Hello on this control line; a line is closed. */
void door_host_came(struct peer *peer, const struct wire_hello *hello);
void door_host_went(struct peer *peer);

#endif
