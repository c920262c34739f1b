/*
 * link - sockets that carry the wire, whatever lies in between.
 *
 * A host dials a port of a guest, a guest (and for some kinds a host) listens;
 * both get the descriptor of a connected stream, which is non-blocking, theirs,
 * and has nothing on it but frames.  One file per kind of address.
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

/* Has a guest look whether its sockets are there.  A process that has just begun does not end by
 * it. */
enum { LINK_LOOK = SIGURG };

/* `fd` is the connected socket, the callee's to close, and `why` NULL; or -1, and `why`
 * says why the address could not be reached. */
typedef void link_dialled(void *arg, int fd, const struct fault *why);

/* Dials once, for 10 s at most.  `done` is called once, always later, unless the dial is
 * cancelled before; after either the dial is gone.  `to` is copied. */
struct link_dial *link_dial(uv_loop_t *loop, const struct link_address *to, unsigned port,
			    link_dialled *done, void *arg);
void link_dial_cancel(struct link_dial *d); /* NULL is fine */

/* The peer of an incoming connection. */
struct link_caller {
	bool stranger; /* nothing says who it is: a token has to */
	uint32_t cid; /* of a VM; 0 elsewhere */
};

/* `fd` is a caller's socket, the callee's to close. */
typedef void link_called(void *arg, int fd, const struct link_caller *who);

/* Listens at an address, which is copied, until link_deafen(); NULL and a fault when it
 * cannot.  Unix sockets, of VMMs too, let in only this user and root; a TCP caller is a
 * stranger. */
struct link_ear *link_listen(uv_loop_t *loop, const struct link_address *at,
			     unsigned port, link_called *called, void *arg,
			     struct fault *f);
void link_deafen(struct link_ear *ear); /* NULL is fine */
/* Whether callers still find it: false for NULL, and where the file of a Unix socket is gone. */
bool link_heard(const struct link_ear *ear);

#endif
