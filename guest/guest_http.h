/*
 * guest_http - the HTTP door of a workspace, which is for teammates.
 *
 *	GET  /health        {status:"ready", version, uptime_secs}; no token is needed
 *	GET  /card          the card of the member who works here
 *	GET  /messages      {messages:[envelope...], ...}: the member's inbox, at most ?limit=N
 *	                    messages; for the member, the lead and the operator. Messages are
 *	                    handed out under a lease, as by a receive in a session of the
 *	                    caller. The next GET acknowledges the answers whose ?request_id=
 *	                    is listed in ?seen=. Assignments are never handed out here.
 *	POST /message       {content, message_type?, priority?, thread?, reply_to?, ...}
 *	     /messages      -> 202 {status:"accepted", message_id}.
 *	POST /task          the payload of an assignment; answered like POST /message.
 *	GET  /files/PATH    a file below the workspace, always whole
 *	POST /files/PATH    -> 201 or 200 {path, size}; replaced as a whole or not at all
 *
 * The header `Authorization: Bearer TOKEN` of a request names the caller. TOKEN is the token
 * for this door that the operation agent.door gave to the calling member. The host checks the
 * token, and stores each message before the request is answered. If no host is connected, the
 * guest stores nothing and answers with 503. Only GET /health then repeats the host's last
 * answer. For requests that send or receive files, the guest remembers an accepted token for
 * PASS_MS. The door is open only while both the team and the workspace have allow_inter_vm. The
 * header Host must be an address, `localhost` or a name of the workspace, so that no web page
 * can reach this door under the web page's host name.
 *
 * Faults are {"error":{code,where,text,hint,retry_after_ms?}}. The HTTP status is 401 if the
 * token is missing or wrong. For other faults, core/base/fault.h defines the HTTP status.
 */
#ifndef GUEST_GUEST_HTTP_H
#define GUEST_GUEST_HTTP_H

#include "guest/guest_inside.h"

/* Listens at `address`, A.B.C.D:PORT or [IPv6]:PORT; the port 0 means any free port. Returns 0
 * or a fault. */
int guest_http_open(struct guest *g, const char *address, struct fault *f);
void guest_http_close(struct guest *g);

/* Returns the address at which the HTTP door listens, as A.B.C.D:PORT or [IPv6]:PORT; NULL: the
 * HTTP door does not listen. */
const char *guest_http_address(const struct guest *g);

#endif
