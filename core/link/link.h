/*
 * link - the sockets between host and guest, of every kind of transport.
 *
 * A host dials a port of a guest; a guest (and for some kinds a host) listens. Both get the
 * descriptor of a connected, non-blocking stream. Each side owns its descriptor, and the stream
 * carries only frames. Each kind of address has a transport of its own.
 */
#ifndef CORE_LINK_LINK_H
#define CORE_LINK_LINK_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "core/base/fault.h"
#include "core/base/link_address.h"

struct link_dial;
struct link_ear;

/* The signal that makes a guest check whether its socket files still exist. By default the
 * signal is ignored, so it does not end a process that has just begun. */
enum { LINK_LOOK = SIGURG };

/* Gets the result of a dial. On success `fd` is the connected socket, which the callee closes,
 * and `why` is NULL. On failure `fd` is -1, and `why` is the reason. */
typedef void link_dialled(void *arg, int fd, const struct fault *why);

/* Dials once, for 10 s at most. `done` is called once, but never before link_dial() returns.
 * `done` is not called after link_dial_cancel(). After `done` or link_dial_cancel() the dial
 * must not be used. `to` is copied. */
struct link_dial *link_dial(uv_loop_t *loop, const struct link_address *to, unsigned port,
			    link_dialled *done, void *arg);
void link_dial_cancel(struct link_dial *d); /* NULL is fine */

/* The peer of an incoming connection. */
struct link_caller {
	bool stranger; /* the peer is not known, and has to prove itself by a token */
	uint32_t cid; /* context id of a VM; 0 for other links */
};

/* Gets an incoming connection. `fd` is the socket of the connection, which the callee closes. */
typedef void link_called(void *arg, int fd, const struct link_caller *who);

/* Listens at an address, which is copied, until link_deafen(). Returns NULL and a fault on
 * failure. Unix sockets, also those of VMMs, accept only this user and root. A TCP caller is a
 * stranger. */
struct link_ear *link_listen(uv_loop_t *loop, const struct link_address *at,
			     unsigned port, link_called *called, void *arg,
			     struct fault *f);
void link_deafen(struct link_ear *ear); /* NULL is fine */
/* Whether callers can still find the listener: false for NULL, and false if the file of its
 * Unix socket is gone. */
bool link_heard(const struct link_ear *ear);

#endif
