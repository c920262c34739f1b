/*
 * guest_conn - a port of a guest: a link, and the requests on it.
 *
 * A guest that answers Hello gets requests with ids, many at once.  One of the
 * older dialect knows neither: it is asked one thing at a time.
 */
#ifndef CORE_HOST_GUESTS_GUEST_CONN_H
#define CORE_HOST_GUESTS_GUEST_CONN_H

#include <uv.h>

#include "core/host/conn_flow.h"
#include "core/link/link.h"
#include "core/wire/frame.h"
#include "core/wire/wire.h"

struct hosted_guest;

/* Reports the end of a request: `answer` has the one type that wire_answer() gives
 * for the request, or `f` is filled and `answer` is NULL. */
typedef void guest_conn_done(void *arg, struct packet *answer, struct fault *f);

enum {
	CHATTER_FRAME = 1 << 10, /* added to a frame's own bytes */
	CHATTER_SECOND = 1000 << 10, /* bytes that may be heard in a second */
};

/* Counts how much one connection sends; begins zeroed. */
struct chatter {
	int64_t bytes; /* heard, less what the time since was worth */
	int64_t at; /* when that was counted */
};

/*
 * A connection, as often as its guest is dialled:
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
 * `dial` is there in DIALING, `pipe` from GREETING to CLOSING.  Nothing is heard nor sent
 * in IDLE, DIALING and CLOSING; in GREETING the only request is the greeting, and the
 * guest has no requests of its own before UP.  Both connections of a guest close together.
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
	enum guest_conn_state state; /* guest_conn.c sets it, in one place */
	struct link_dial *dial; /* while GUEST_CONN_DIALING */
	uv_pipe_t pipe;
	int64_t heard_at; /* last bytes */
	bool pinged; /* since then */
	struct frame_reader reader;
	struct flow flow;
	struct chatter chatter;
	bool deaf; /* it is not read from, for its chatter */
	struct asked *asked, **asked_end; /* without an answer yet, in order */
	int64_t last_id;
};

/* Sets up a connection to a port of the guest; nothing is dialed yet. */
void guest_conn_init(struct guest_conn *conn, struct hosted_guest *t, unsigned port);

/* Begins to reach the guest's port; hosted_guest_greeted() or guest_conn_drop() follows. */
void guest_conn_dial(struct guest_conn *conn);

/* Sends a request; `done` is called once, always later, unless the hosted guest is
 * closed before. `src` is the type's struct or NULL. */
void guest_conn_ask(struct guest_conn *conn, const char *type, const void *src,
		    int64_t timeout_ms, guest_conn_done *done, void *arg);

/* Sends a frame that is whole, or an Error: answers to the guest's own requests.
 * False when the guest should read before it is sent more. */
bool guest_conn_pass(struct guest_conn *conn, const char *body, size_t size);
void guest_conn_pass_fault(struct guest_conn *conn, const struct fault *why,
			   const json_t *id);

/* Ends what took too long, and a connection that is open but dead. */
void guest_conn_tick(struct guest_conn *conn, int64_t now);

/* Time has leapt by `ms`: moves the deadlines of requests and of the connection. */
void guest_conn_leap(struct guest_conn *conn, int64_t ms);

/* Closes the connection; fails all requests that have no answer.  For hosted_guest.c. */
void guest_conn_close(struct guest_conn *conn);
void guest_conn_fail_all(struct guest_conn *conn);

#endif
