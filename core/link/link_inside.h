/*
 * link_inside - declarations that the kinds of links share.
 */
#ifndef CORE_LINK_LINK_INSIDE_H
#define CORE_LINK_LINK_INSIDE_H

#include <sys/socket.h>

#include "core/link/link.h"

struct transport {
	void (*dial)(struct link_dial *d);
	/* Fills ear->fd with a listening socket, or serves by itself. */
	int (*listen)(struct link_ear *ear, struct fault *f);
	/* Whether the caller is let in, and fills in who it is; NULL: everybody is let
	 * in. */
	bool (*admit)(int fd, struct link_caller *who);
};

extern const struct transport link_unix, link_vsock, link_serial, link_hybrid, link_tcp;

/* --- dialling ------------------------------------------------------------------ */

/*
 * A dial, which ends once and soon; d->step is what comes when the socket is ready:
 *
 *	       a name is asked for        its addresses, one by one
 *	BEGUN ---------------------> NAMING ----+
 *	  |                                     v    d->step: the next address, the
 *	  +--------- dial_await() ---------> WAITING --+  VMM's answer
 *	  |                                  | | |  ^  |
 *	  |      dial_release(): a pump has  | | |  +--+
 *	  |      the socket (serial.c)       | | |
 *	  |               LENT <-------------+ | |
 *	  |                | |                 | |  dial_done()
 *	  |                | +-----------------|-+-----------------> OVER
 *	  |  dial_failed() v                   v                      ^
 *	  +------------> FAILED <--------------+                      |
 *	                   |   the next turn of the loop              |
 *	                   +------------------------------------------+
 *
 * From all but OVER the timer and link_dial_cancel() lead to OVER.  From all but OVER and
 * FAILED dial_failed() leads to FAILED: the caller is always told later.  A dial that is
 * OVER has told its caller, or never will, and is freed when its handles are closed.
 */
enum dial_state {
	DIAL_BEGUN,
	DIAL_NAMING,
	DIAL_WAITING,
	DIAL_LENT,
	DIAL_FAILED,
	DIAL_OVER
};

struct link_dial {
	enum dial_state state;
	uv_loop_t *loop;
	struct link_address to;
	unsigned port;
	link_dialled *done;
	void *arg;
	uv_timer_t timer; /* the end of all patience, or a failure to be told */
	uv_poll_t *poll; /* of `fd`; each address that is tried has one of its own, since
			    libuv closes a handle later. NULL: none */
	int fd; /* -1: none */
	int handles; /* that are not closed yet */
	struct fault fault;
	void (*step)(struct link_dial *d); /* called when fd is ready */
	/* of TCP: the name's addresses, the next one to try */
	uv_getaddrinfo_t *ask;
	struct addrinfo *found, *next;
	struct pump *pump; /* serial.c */
	char line[64]; /* the hybrid's: the VMM's answer so far */
	size_t n_line;
};

/* dial_connect() to a Unix socket in a folder; a failure ends the dial. */
void dial_at(struct link_dial *d, const char *folder, const char *name,
	     void (*step)(struct link_dial *d));
/* Whether d->fd is connected, in the step of dial_connect(); else fills d->fault. */
bool dial_connected(struct link_dial *d);
/* Gives d->fd away: its owner is now another. */
void dial_release(struct link_dial *d);
/* Ends a dial: connected, unless d->fault says otherwise. */
void dial_done(struct link_dial *d);
/* Ends a dial without a connection, as d->fault says; the caller is told later. */
void dial_failed(struct link_dial *d);
/* Fills d->fault from an errno. */
void dial_errno(struct link_dial *d, int error);

/* --- listening ------------------------------------------------------------------ */

struct link_ear {
	uv_loop_t *loop;
	struct link_address at;
	unsigned port;
	link_called *called;
	void *arg;
	uv_poll_t poll;
	uv_timer_t timer;
	int fd; /* -1: none */
	int handles;
	struct pump *pump; /* serial.c */
	dev_t dev; /* of the socket's file */
	ino_t ino;
};

enum { EAR_BACKLOG = 128 };

/* --- serial.c ------------------------------------------------------------------- */

/* Closes a pump and its port; a second call does nothing. */
void pump_close(struct pump *p);

#endif
