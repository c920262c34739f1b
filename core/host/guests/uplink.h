/*
 * uplink - requests of a guest, and of who works in it, to its host.
 *
 * It comes as requests on the control connection that the host dialled, or on a
 * connection that the guest's machine made (vsock to CID 2, a VMM's socket).
 * Either way it is a connection of conn.c, whose caller is the agent of the
 * guest's workspace: the channel proves that, not what is said on it.
 */
#ifndef CORE_HOST_GUESTS_UPLINK_H
#define CORE_HOST_GUESTS_UPLINK_H

#include "core/host/guests/guest_conn.h"

struct host;
struct hosted_guest;
struct uplink;

/* Whether a packet is a request of a guest, not an answer. */
bool uplink_wants(const struct packet *p);

/* Passes a request on; its frame is that of conn->reader.  False: it was refused. */
bool uplink_take(struct guest_conn *conn, const struct packet *p);
/* The connection has room again. */
void uplink_resume(struct hosted_guest *t);

#endif
