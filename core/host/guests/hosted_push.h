/*
 * hosted_push - sends deliveries to a guest, in order, as soon as they are committed.
 *
 * A page of waiting deliveries is read and sent over the relay connection. The deliveries that
 * the guest has taken (Ok) are marked notified. Then the next page is read.
 *
 *	 push_poke()      deliveries wait       offer is stored      all are answered
 *	idle -----> read -------------> offer -------------> tell ---------------------> mark
 *	 ^           ^                                                                    |
 *	 |           +----- more, another poke, or a new guest ---------------------------+
 *	 +----------------- else; after a refusal push_tick() reads again ----------------+
 *
 * Only assignments are offered. After an offer is stored, its assignments may run in the guest.
 * A new guest (with another boot id) also gets the deliveries that the former guest got. A
 * guest recognizes messages that it already has. A guest without room for messages (Exhausted)
 * gets only assignments; after a pause the host sends a single message as a test. A guest
 * without room for assignments gets only messages.
 */
#ifndef CORE_HOST_GUESTS_HOSTED_PUSH_H
#define CORE_HOST_GUESTS_HOSTED_PUSH_H

#include "core/host/guests/hosted_guest.h"

void push_up(struct hosted_guest *t, bool anew); /* the guest is reachable now */
void push_poke(struct hosted_guest *t); /* a delivery may be waiting */
/* Reads the next page if the pause after a failure has ended at `now`. */
void push_tick(struct hosted_guest *t, int64_t now);
/* Frees the page and its mark, after the guest was closed. */
void push_release(struct hosted_guest *t);

#endif
