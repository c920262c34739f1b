/*
 * link_inside - declarations that the kinds of links share.
 */
#ifndef CORE_LINK_LINK_INSIDE_H
#define CORE_LINK_LINK_INSIDE_H

#include <sys/socket.h>

#include "core/link/link.h"

struct transport {
	void (*dial)(struct link_dial *d);
	/* Sets ear->fd to a socket that is bound to the address. A transport that finds its
	 * callers by itself leaves ear->fd at -1. */
	int (*listen)(struct link_ear *ear, struct fault *f);
	/* Whether the caller may connect; also fills `who`. If `admit` is NULL, every caller
	 * may connect. */
	bool (*admit)(int fd, struct link_caller *who);
};

extern const struct transport link_unix, link_vsock, link_serial, link_hybrid, link_tcp;

/* --- dialling ------------------------------------------------------------------ */

/*
 * The states of a dial. A dial ends once, within the time limit. d->step is called when the
 * socket is ready.
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
 * From every state except OVER, the timer and link_dial_cancel() lead to OVER. From every state
 * except OVER and FAILED, dial_failed() leads to FAILED, so that `done` is never called before
 * link_dial() returns. A dial in OVER either calls `done` at once, or was cancelled and never
 * calls `done`. The dial is freed when its handles are closed.
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
	uv_timer_t timer; /* runs until the time limit, or until the call of `done` */
	uv_poll_t *poll; /* polls `fd`; made anew for each address; or NULL */
	int fd; /* descriptor of the socket; -1: no socket */
	int handles; /* handles that are not closed yet */
	struct fault fault;
	void (*step)(struct link_dial *d); /* called when `fd` is ready */
	/* For TCP: the DNS query for the name of the guest's machine, the addresses found, and
	 * the next address to try. */
	uv_getaddrinfo_t *ask;
	struct addrinfo *found, *next;
	struct pump *pump; /* the pump of a serial port, or NULL */
	char line[64]; /* hybrid vsock: the part of the VMM's answer that has been
			  received so far */
	size_t n_line;
};

/* Connects d->fd to a Unix socket in a folder, and calls `step` when the connection succeeds or
 * fails. If the connection fails at once, the dial ends. */
void dial_at(struct link_dial *d, const char *folder, const char *name,
	     void (*step)(struct link_dial *d));
/* Whether d->fd is connected; if not, fills d->fault. Only the `step` of a new connection may
 * call this function. */
bool dial_connected(struct link_dial *d);
/* Gives d->fd away: the dial no longer owns the descriptor. */
void dial_release(struct link_dial *d);
/* Ends a dial. The dial counts as failed if d->fault is filled, else as connected. */
void dial_done(struct link_dial *d);
/* Ends a dial without a connection. In the next turn of the loop, `done` gets d->fault. */
void dial_failed(struct link_dial *d);
/* Fills d->fault from the errno `error`. */
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
	int fd; /* descriptor of the listening socket; -1: no socket */
	int handles;
	struct pump *pump; /* the pump of a serial port, or NULL */
	dev_t dev; /* device of the socket's file; `ino` is its inode */
	ino_t ino;
};

enum { EAR_BACKLOG = 128 };

/* --- serial.c ------------------------------------------------------------------- */

/* Closes a pump and its port; a second call does nothing. */
void pump_close(struct pump *p);

#endif
