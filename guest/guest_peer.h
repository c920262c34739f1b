/*
 * guest_peer - a program on one of the guest's sockets, and its requests.
 *
 * A request with an `id` is served at once and answered when it is done. Requests without an
 * `id` are served one at a time, in order. If a peer does not read its answers, the guest does
 * not read from the peer. A request belongs to its peer until it is answered. If the peer
 * closes the connection before the answer, `gone` is called instead.
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
	uint64_t since; /* loop time of the connection's start */
	bool stranger; /* only a Hello with the token is accepted */
	bool hello; /* the peer sent Hello, so it speaks the newer dialect */
	char *session; /* session of a client at the door */
	struct receipts confirms; /* unconfirmed answers: guest_door.h */
	bool paused, closing;
	bool refused; /* closes after the last write; reads no more */
	struct guest_request *live; /* requests started and not answered */
	struct guest_request *busy; /* the started request without an id */
	struct guest_request *waiting, **last_waiting; /* served after `busy` */
	int n_waiting;
	struct peer *next, **place;
};

struct guest_request {
	struct guest *guest;
	struct peer *peer;
	struct packet packet;
	struct arena arena;
	const void *body; /* the decoded message: the struct of its type */
	void *owner; /* data of the service */
	int64_t asked; /* number under which the host was asked */
	void (*gone)(struct guest_request *q); /* must call guest_request_free(q) */
	struct guest_request *next, **place;
};

/* These functions end the request and free it. If an answer is too large for a frame, a fault
 * is sent instead. `answer` is the struct of the type, or NULL for a type without fields. */
void guest_request_answer(struct guest_request *q, const char *type, const void *answer);
void guest_request_fail(struct guest_request *q, const struct fault *why);
/* Sends the fault and then closes the connection. No more is read from the peer. */
void guest_request_refuse(struct guest_request *q, const struct fault *why);
/* Frees the request without an answer. */
void guest_request_free(struct guest_request *q);

/* Ends the request with `answer`, which is already a complete message; borrowed. */
void guest_request_pass(struct guest_request *q, const json_t *answer);

/* Sends a message unchanged, even if the peer does not read. Returns a fault if the message is
 * too large for a frame. */
int peer_pass(struct peer *peer, const json_t *message, struct fault *f);
/* Sends a message that is not an answer. If the peer does not read, nothing is sent. */
void peer_send(struct peer *peer, const char *type, const void *message);

/* Closes the connection: for each of its requests `gone` is called, and no answer is sent. */
void peer_close(struct peer *peer);

/* Listens for the peers of a port (a WIRE_ bit, or WIRE_DOOR); returns 0 or a fault. */
int peer_listen_open(struct listener *l, struct guest *g, unsigned port,
		     const struct link_address *at, struct fault *f);
void peer_listen_close(struct listener *l);

/* Closes the connections of strangers who have sent no valid Hello within GREET_MS. */
void peers_tick(struct guest *g);

/* guest_serve.c: serves a request. If the id may not be repeated in an answer, refuses the
 * request. */
void guest_request_serve(struct guest_request *q);

#endif
