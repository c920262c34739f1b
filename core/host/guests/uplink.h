/*
 * uplink - requests to the host from a guest and from the agent in its workspace.
 *
 * A request arrives on the control connection that the host dialled, or on a connection that
 * the guest's machine made (vsock to CID 2, a VMM's socket). conn.c serves the requests of both
 * kinds of connections. The caller of each request is the agent of the guest's workspace. The
 * connection proves this caller, and no data in a request can change the caller.
 */
#ifndef CORE_HOST_GUESTS_UPLINK_H
#define CORE_HOST_GUESTS_UPLINK_H

#include "core/host/guests/guest_conn.h"

struct host;
struct hosted_guest;
struct uplink;

/* Whether a packet is a request of a guest, not an answer. */
bool uplink_wants(const struct packet *p);

/* Passes a request to the host; the frame of the request is in conn->reader. False: the request
 * was refused. */
bool uplink_take(struct guest_conn *conn, const struct packet *p);
/* Sends the guest the answers that were held back. Called when the guest's connection has room
 * again. */
void uplink_resume(struct hosted_guest *t);

#endif
