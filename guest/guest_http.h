/*
 * guest_http - the workspace's door for its team: HTTP for teammates.
 *
 *	GET  /health        {status:"ready", version, uptime_secs}; no token
 *	GET  /card          the card of the member who works here
 *	GET  /messages      {messages:[envelope...], ...}: its inbox, at most ?limit=N;
 *	                    for itself, its lead and the operator.  As a receive in a
 *	                    session of the caller's own: handed out under a lease, and
 *	                    acknowledged by the next one that names it: ?seen= has the
 *	                    ?request_id= of those that arrived.  Never an assignment.
 *	POST /message       {content, message_type?, priority?, thread?, reply_to?, ...}
 *	     /messages      -> 202 {status:"accepted", message_id}.
 *	POST /task          an assignment's payload, and likewise.
 *	GET  /files/PATH    a file below the workspace, always whole
 *	POST /files/PATH    -> 201 or 200 {path, size}; replaced as a whole or not at all
 *
 * Who asks shows it with `Authorization: Bearer TOKEN`, the token that agent.door
 * gave that member for this door.  The host proves it, and stores what comes in
 * before it is answered; without the host nothing is answered but 503, and nothing
 * is kept.  That a token was good is remembered for PASS_MS, for files.  All of it
 * holds only while the team's and the workspace's allow_inter_vm do.  Host has to
 * be an address, `localhost` or a name of the workspace, so that no web page is led
 * here by its own name.
 *
 * Faults are {"error":{code,where,text,hint,retry_after_ms?}}: 401 without a good token,
 * else as core/base/fault.h has it.
 */
#ifndef GUEST_GUEST_HTTP_H
#define GUEST_GUEST_HTTP_H

#include "guest/guest_inside.h"

/* Listens at `address`, A.B.C.D:PORT or [IPv6]:PORT; port 0 for any: 0 or a fault. */
int guest_http_open(struct guest *g, const char *address, struct fault *f);
void guest_http_close(struct guest *g);

/* The address at which the door listens, in the same form; NULL while it does not. */
const char *guest_http_address(const struct guest *g);

#endif
