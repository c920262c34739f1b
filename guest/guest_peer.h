/*
 * guest_peer - a program on one of the guest's sockets, and its requests.
 *
 * A request with an `id` is served at once and answered when it is done; those
 * without one are served one at a time, in order.  A peer that does not read
 * its answers is not read from.  A request is its peer's until it is
 * answered; when the peer goes away before, `gone` is called instead.
 */
#ifndef GUEST_GUEST_PEER_H
#define GUEST_GUEST_PEER_H

#include "core/wire/receipt.h"
#include "core/wire/wire.h"
#include "guest/guest_inside.h"

struct peer {
	struct guest *guest;
	struct listener *listener;
	unsigned port;
	uv_pipe_t pipe;
	struct frame_reader in;
	uint64_t since; /* loop time */
	bool stranger; /* nothing but a Hello with the token is taken */
	bool hello; /* the peer said Hello: it knows the newer dialect */
	char *session; /* of a client at the door */
	struct receipts confirms; /* answers without confirmation: guest_door.h */
	bool paused, closing;
	bool refused; /* closed behind what is written; no more is read */
	struct guest_request *live; /* started, not answered */
	struct guest_request *busy; /* the one of them without an id */
	struct guest_request *waiting, **last_waiting; /* behind busy */
	int n_waiting;
	struct peer *next, **place;
};

struct guest_request {
	struct guest *guest;
	struct peer *peer;
	struct packet packet;
	struct arena arena;
	const void *body; /* the type's struct */
	void *owner; /* of who serves it */
	int64_t asked; /* number of the request to the host that it became */
	void (*gone)(struct guest_request *q); /* must end it by guest_request_free() */
	struct guest_request *next, **place;
};

/* These functions end the request and free it.  An answer that fits no frame is sent as a
 * fault.  `answer` is the struct of the type, or NULL for a type without fields. */
void guest_request_answer(struct guest_request *q, const char *type, const void *answer);
void guest_request_fail(struct guest_request *q, const struct fault *why);
/* Sends the fault and closes the connection behind it; no more is read from the peer. */
void guest_request_refuse(struct guest_request *q, const struct fault *why);
/* Frees the request without an answer. */
void guest_request_free(struct guest_request *q);

/* Ends the request with a message that is an answer already, borrowed. */
void guest_request_pass(struct guest_request *q, const json_t *answer);

/* Sends a message as it is, whatever the peer reads; a fault if no frame holds it. */
int peer_pass(struct peer *peer, const json_t *message, struct fault *f);
/* Sends a message that is no answer, unless the peer does not read. */
void peer_send(struct peer *peer, const char *type, const void *message);

/* Closes the connection: its requests end by `gone`, without an answer. */
void peer_close(struct peer *peer);

/* Listens for the peers of a port (a WIRE_ bit, or WIRE_DOOR); 0 or a fault. */
int peer_listen_open(struct listener *l, struct guest *g, unsigned port,
		     const struct link_address *at, struct fault *f);
void peer_listen_close(struct listener *l);

/* Closes strangers who have not said who they are for too long. */
void peers_tick(struct guest *g);

/* guest_serve.c: serves a request whose id may be echoed. */
void guest_request_serve(struct guest_request *q);

#endif
