/*
 * guest_peer - serves one program that is connected to a socket of the guest.
 *
 * The guest serves a request with an `id` at once, and answers the request when the work of the
 * request is done. The guest serves requests without an `id` one at a time, in order. If a peer
 * does not read its answers, the guest does not read from the peer. A request belongs to its
 * peer until the request is answered. If the peer closes the connection before the answer, the
 * request's function `gone` is called.
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
	bool stranger; /* the peer must first send a Hello with the guest's token */
	bool hello; /* the peer sent Hello, so the peer speaks the newer dialect */
	char *session; /* session of a client at the door */
	struct receipts confirms; /* unconfirmed answers; see guest_door.h */
	bool paused, closing;
	bool refused; /* the connection is about to close, and nothing more is read */
	struct guest_request *live; /* requests that were started and not yet answered */
	struct guest_request *busy; /* the started request without an id */
	struct guest_request *waiting, **last_waiting; /* requests without an id, served
							  after `busy` */
	int n_waiting;
	struct peer *next, **place;
};

struct guest_request {
	struct guest *guest;
	struct peer *peer;
	struct packet packet;
	struct arena arena;
	const void *body; /* the decoded message, in the struct of the message's type */
	void *owner; /* data of the function that serves the request */
	int64_t asked; /* number of the guest's request to the host */
	void (*gone)(struct guest_request *q); /* called when the peer leaves; must call
						  guest_request_free(q) */
	struct guest_request *next, **place;
};

/* These functions answer a request and free the request. If an answer is too large for a frame,
 * a fault is sent instead. `answer` is the struct of the message type `type`; NULL: the type
 * has no fields. */
void guest_request_answer(struct guest_request *q, const char *type, const void *answer);
void guest_request_fail(struct guest_request *q, const struct fault *why);
/* Sends the fault `why` and then closes the connection. The guest reads no more from the peer. */
void guest_request_refuse(struct guest_request *q, const struct fault *why);
/* Frees the request without an answer. */
void guest_request_free(struct guest_request *q);

/* Ends the request with `answer`, which is already a complete message. `answer` is borrowed. */
void guest_request_pass(struct guest_request *q, const json_t *answer);

/* Sends `message` unchanged, even if many bytes wait to be read by the peer. Returns a fault if
 * the message is too large for a frame. */
int peer_pass(struct peer *peer, const json_t *message, struct fault *f);
/* Sends a message that is no answer. Nothing is sent if the peer has too many unread bytes. */
void peer_send(struct peer *peer, const char *type, const void *message);

/* Closes the connection of `peer`, and sends no more answers. Calls the function `gone` of each
 * running request of the peer. */
void peer_close(struct peer *peer);

/* Opens the socket `port` (a WIRE_ bit, or WIRE_DOOR) at the address `at`. Returns 0 or a
 * fault. */
int peer_listen_open(struct listener *l, struct guest *g, unsigned port,
		     const struct link_address *at, struct fault *f);
void peer_listen_close(struct listener *l);

/* Closes the connections of strangers who have sent no valid Hello within GREET_MS. */
void peers_tick(struct guest *g);

/* Serves a request. Refuses a request whose id is too long to be repeated in an answer, or is
 * no number and no text. guest_serve.c contains this function. */
void guest_request_serve(struct guest_request *q);

#endif
