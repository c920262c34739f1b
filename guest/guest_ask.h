/*
 * guest_ask - requests of this workspace to its host.
 *
 * The requests are sent on the control line that the host has dialled, under ids that the guest
 * chooses. The answers arrive on the same line. From the line the host knows which workspace
 * asks.
 */
#ifndef GUEST_GUEST_ASK_H
#define GUEST_GUEST_ASK_H

#include "guest/guest_peer.h"

struct asking;

/* Gets the host's answer without its id, borrowed; the answer may be an Error. NULL: no answer
 * arrived, for the reason in `f`. */
typedef void asked_done(void *arg, json_t *answer, const struct fault *f);

/* Asks the host. `message` is borrowed and gets an id. Returns NULL and a fault if the host
 * cannot be asked. Otherwise `done` is called once, later. */
struct asking *ask_host(struct guest *g, json_t *message, asked_done *done, void *arg,
			struct fault *f);
/* Gives up and frees a request whose answer nobody needs any more, and tells the host that the
 * answer is lost. `done` is not called. */
void ask_drop(struct guest *g, struct asking *a);

/* The number of a request, to be used in ask_settle() after the end of the request. */
int64_t ask_number(const struct asking *a);
/* The fate of an answer to a caller that confirms answers. */
enum answer_end {
	ANSWER_ARRIVED,
	ANSWER_LOST, /* nobody has read the answer */
	ANSWER_LEFT, /* the caller left unconfirmed, and may have read the answer */
};
/* Tells the host the fate of the answer to the request with this number. */
void ask_settle(struct guest *g, int64_t number, enum answer_end end);

/* Takes a message of the host if it answers a request of this guest. Returns false if the
 * message answers no request of this guest. */
bool ask_hear(struct guest_request *heard);

/* Ends all requests by a call of `done`, since the host's control line is closed. */
void ask_host_went(struct guest *g);

#endif
