/*
 * guest_ask - sends requests of this workspace to its host.
 *
 * The guest sends its requests over the control connection that the host has dialled, under ids
 * that the guest chooses. The host answers over the same connection. The host knows from the
 * connection which workspace sent a request.
 */
#ifndef GUEST_GUEST_ASK_H
#define GUEST_GUEST_ASK_H

#include "guest/guest_peer.h"

struct asking;

/* Gets the host's answer, which has no id, is borrowed and may be an Error. If `answer` is
 * NULL, no answer arrived, and `f` contains the reason. */
typedef void asked_done(void *arg, json_t *answer, const struct fault *f);

/* Sends the request `message` to the host. `message` is borrowed, and gets a member `id`. If no
 * request can be sent to the host, returns NULL and fills `f`. Otherwise `done` is called once,
 * after ask_host() has returned. */
struct asking *ask_host(struct guest *g, json_t *message, asked_done *done, void *arg,
			struct fault *f);
/* Frees a request whose answer nobody needs any more. Tells the host that nobody will read the
 * answer. Does not call `done`. */
void ask_drop(struct guest *g, struct asking *a);

/* Returns the number of a request. The caller passes this number to ask_settle() after the
 * request has ended. */
int64_t ask_number(const struct asking *a);
/* Whether an answer arrived at a caller that confirms answers. */
enum answer_end {
	ANSWER_ARRIVED,
	ANSWER_LOST, /* nobody has read the answer */
	ANSWER_LEFT, /* the caller left without a confirmation, and may have read the
			answer */
};
/* Tells the host whether the answer to the request `number` arrived. */
void ask_settle(struct guest *g, int64_t number, enum answer_end end);

/* Takes a message whose `id` is an id of this guest's requests. An answer to a dropped request
 * is ignored. Returns false for any other message. */
bool ask_hear(struct guest_request *heard);

/* Ends all requests, because the host's control connection is closed. Calls the `done` of each
 * request. */
void ask_host_went(struct guest *g);

#endif
