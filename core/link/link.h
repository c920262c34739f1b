/*
 * link - the connections between host and guest, over every kind of transport.
 *
 * A host dials a port at which a guest listens. With some kinds of address the guest also
 * dials, and the host listens. Both sides get the descriptor of a connected, non-blocking
 * stream. Each side owns its descriptor, and the stream carries only frames. Each kind of
 * address has its own transport.
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

/* The signal that makes a guest check whether its socket files still exist. A process ignores
 * SIGURG by default, so the signal does not end a guest that has just started. */
enum { LINK_LOOK = SIGURG };

/* Gets the result of a dial. On success `fd` is the connected socket, and `why` is NULL. The
 * callee has to close `fd`. On failure `fd` is -1, and `why` is the reason. */
typedef void link_dialled(void *arg, int fd, const struct fault *why);

/* Dials once; after 10 s the dial fails. `done` is called once, but not before link_dial()
 * returns, and not after link_dial_cancel(). After the call of `done` or of link_dial_cancel(),
 * the dial must not be used. `to` is copied. */
struct link_dial *link_dial(uv_loop_t *loop, const struct link_address *to, unsigned port,
			    link_dialled *done, void *arg);
void link_dial_cancel(struct link_dial *d); /* `d` may be NULL */

/* The peer of an incoming connection, as the transport knows the peer. */
struct link_caller {
	bool stranger; /* the peer is unknown, and has to send a token as proof */
	uint32_t cid; /* context id of a VM; 0 for other links */
};

/* Gets an incoming connection. `fd` is the connection's socket; the callee has to close `fd`. */
typedef void link_called(void *arg, int fd, const struct link_caller *who);

/* Listens at an address until link_deafen(). The address is copied. Returns NULL and a fault on
 * failure. A Unix socket, even the socket of a VMM, accepts only this user and root. Every TCP
 * caller is a stranger. */
struct link_ear *link_listen(uv_loop_t *loop, const struct link_address *at,
			     unsigned port, link_called *called, void *arg,
			     struct fault *f);
void link_deafen(struct link_ear *ear); /* `ear` may be NULL */
/* Whether callers can still find the listener. Returns false for NULL, and if the file of the
 * listener's Unix socket is missing. */
bool link_heard(const struct link_ear *ear);

#endif
