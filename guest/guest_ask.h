/*
 * guest_ask - requests of this workspace to its host.
 *
 * They go on the control line that the host has dialled, under ids of the
 * guest's own; answers come back there.  The line tells the host
 * which workspace asks.
 */
#ifndef GUEST_GUEST_ASK_H
#define GUEST_GUEST_ASK_H

#include "guest/guest_peer.h"

struct asking;

/* The host's answer, an Error included, without its id; borrowed.  NULL: none
 * came, for the reason in `f`. */
typedef void asked_done(void *arg, json_t *answer, const struct fault *f);

/* Asks the host; `message` is borrowed and gets an id.  NULL and a fault when it cannot
 * be asked, else `done` is called once, later. */
struct asking *ask_host(struct guest *g, json_t *message, asked_done *done, void *arg,
			struct fault *f);
/* Gives up and frees a request that nobody waits for, and tells the host that its answer
 * is lost; `done` is not called. */
void ask_drop(struct guest *g, struct asking *a);

/* The number of a request, for ask_settle() after its end. */
int64_t ask_number(const struct asking *a);
/* How far an answer got, if its caller confirms answers. */
enum answer_end {
	ANSWER_ARRIVED,
	ANSWER_LOST, /* nobody has seen it */
	ANSWER_LEFT, /* its caller went without a word, and may have seen it */
};
/* Tells the host of the answer to the request of this number. */
void ask_settle(struct guest *g, int64_t number, enum answer_end end);

/* Takes a message of the host that answers one of these; false: it is none. */
bool ask_hear(struct guest_request *heard);

/* Ends all requests, with `done`, since the host's control line is closed. */
void ask_host_went(struct guest *g);

#endif
