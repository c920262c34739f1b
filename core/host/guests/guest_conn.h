/*
 * guest_conn - the connection to a port of a guest: a link, and the requests on this link.
 *
 * A guest that answers Hello gets requests with ids, and can get many requests at once. A guest
 * of the older dialect knows no ids, so such a guest gets one request at a time.
 */
#ifndef CORE_HOST_GUESTS_GUEST_CONN_H
#define CORE_HOST_GUESTS_GUEST_CONN_H

#include <uv.h>

#include "core/host/conn_flow.h"
#include "core/link/link.h"
#include "core/wire/frame.h"
#include "core/wire/wire.h"

struct hosted_guest;

/* Reports the end of a request. On success `answer` has the type that wire_answer() gives for
 * the request. On failure `f` is set and `answer` is NULL. */
typedef void guest_conn_done(void *arg, struct packet *answer, struct fault *f);

enum {
	CHATTER_FRAME = 1 << 10, /* bytes counted for a frame in addition to its size */
	/* Bytes by which the count of struct chatter falls each second, and also the bound of
	 * this count. */
	CHATTER_SECOND = 1000 << 10,
};

/* Counts the chatter of one connection. The struct must be zeroed before its first use. */
struct chatter {
	int64_t bytes; /* bytes counted, minus CHATTER_SECOND for each second */
	int64_t at; /* when `bytes` was last lowered */
};

/*
 * States of a connection. Each dial of the guest begins at IDLE:
 *
 *	     guest_conn_dial()          connected            the guest has said who it is
 *	IDLE --------------> DIALING ------------> GREETING --------------------> UP
 *	  ^                     |                      |                          |
 *	  | not reached, or     |                      |  guest_conn_close()      |
 *	  | guest_conn_close()  |                      v                          |
 *	  +---------------------+                   CLOSING <---------------------+
 *	  ^                                            |
 *	  +----------- the handle is closed. ----------+
 *
 * `dial` is set in DIALING; `pipe` is open from GREETING to CLOSING. In IDLE, DIALING and
 * CLOSING nothing is sent and nothing is received. In GREETING the only request is the
 * greeting. The guest's own requests are taken only in UP. Both connections of a guest close
 * together.
 */
enum guest_conn_state {
	GUEST_CONN_IDLE,
	GUEST_CONN_DIALING,
	GUEST_CONN_GREETING,
	GUEST_CONN_UP,
	GUEST_CONN_CLOSING
};

/* Connection to one port of a guest. */
struct guest_conn {
	struct hosted_guest *guest;
	unsigned port;
	enum guest_conn_state state; /* only guest_conn_become() sets it */
	struct link_dial *dial; /* set in GUEST_CONN_DIALING */
	uv_pipe_t pipe;
	int64_t heard_at; /* when bytes were last received */
	bool pinged; /* a Ping was sent since heard_at */
	struct frame_reader reader;
	struct flow flow;
	struct chatter chatter;
	bool deaf; /* the host stopped reading because of chatter */
	struct asked *asked, **asked_end; /* requests without an answer, in order */
	int64_t last_id;
};

/* Sets up the connection to a port of the guest, without dialing the port. */
void guest_conn_init(struct guest_conn *conn, struct hosted_guest *t, unsigned port);

/* Dials the guest's port. hosted_guest_greeted() or guest_conn_drop() is called later. */
void guest_conn_dial(struct guest_conn *conn);

/* Sends a request. `done` is called once. Usually this happens after the function has returned,
 * but a failed send can call `done` earlier. If the hosted guest is closed, `done` gets
 * `unavailable`. `src` is the struct of the message type, or NULL. */
void guest_conn_ask(struct guest_conn *conn, const char *type, const void *src,
		    int64_t timeout_ms, guest_conn_done *done, void *arg);

/* Sends a whole frame, or an Error, as the answer to the guest's own request. Returns false if
 * no further answer should be sent before the guest has read the earlier answers. */
bool guest_conn_pass(struct guest_conn *conn, const char *body, size_t size);
void guest_conn_pass_fault(struct guest_conn *conn, const struct fault *why,
			   const json_t *id);

/* Ends requests that took too long. Ends the connection of a guest that has been silent for too
 * long. */
void guest_conn_tick(struct guest_conn *conn, int64_t now);

/* Moves the deadlines of requests and of the connection by `ms`: how far the clock leapt, or
 * how long a halt lasted. */
void guest_conn_leap(struct guest_conn *conn, int64_t ms);

/* These functions are for hosted_guest.c. guest_conn_close() closes the connection.
 * guest_conn_fail_all() fails all requests that have no answer. */
void guest_conn_close(struct guest_conn *conn);
void guest_conn_fail_all(struct guest_conn *conn);

#endif
