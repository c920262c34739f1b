/*
 * guest_http - the workspace's door for its team: HTTP for teammates.
 *
 *	GET  /health        {status:"ready", version, uptime_secs}; no token is needed
 *	GET  /card          the card of the member who works here
 *	GET  /messages      {messages:[envelope...], ...}: the member's inbox, at most
 *	                    ?limit=N messages; for the member, the lead and the operator.
 *	                    Works as a receive in a session of the caller's own: messages
 *	                    are handed out under a lease.  The next GET acknowledges the
 *	                    answers named in ?seen=, by the ?request_id= of each.
 *	                    Assignments are never handed out here.
 *	POST /message       {content, message_type?, priority?, thread?, reply_to?, ...}
 *	     /messages      -> 202 {status:"accepted", message_id}.
 *	POST /task          the payload of an assignment; answered like POST /message.
 *	GET  /files/PATH    a file below the workspace, always whole
 *	POST /files/PATH    -> 201 or 200 {path, size}; replaced as a whole or not at all
 *
 * A caller proves who it is with `Authorization: Bearer TOKEN`.  TOKEN is the token that
 * agent.door gave the member for this door.  The host checks the token, and stores each
 * message before the request is answered.  Without a host every request is answered with
 * 503, and nothing is stored.  For requests of files, an accepted token is remembered for
 * PASS_MS.  The door is open only while both the team and the workspace have allow_inter_vm.
 * The header Host must be an address, `localhost` or a name of the workspace, so that no web
 * page can reach this door under the page's own host name.
 *
 * Faults are {"error":{code,where,text,hint,retry_after_ms?}}.  The status is 401 without a
 * good token, and otherwise the status of the fault in core/base/fault.h.
 */
#ifndef GUEST_GUEST_HTTP_H
#define GUEST_GUEST_HTTP_H

#include "guest/guest_inside.h"

/* Listens at `address`, A.B.C.D:PORT or [IPv6]:PORT; port 0 means any free port. Returns 0 or a
 * fault. */
int guest_http_open(struct guest *g, const char *address, struct fault *f);
void guest_http_close(struct guest *g);

/* The address at which the door listens, in the same form; NULL while the door does not listen. */
const char *guest_http_address(const struct guest *g);

#endif
