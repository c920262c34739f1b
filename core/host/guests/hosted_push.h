/*
 * hosted_push - sends deliveries to a guest, in order, as soon as they are committed.
 *
 * The host reads a page of waiting deliveries and sends the page over the relay connection. If
 * the guest answers Ok to a delivery, the delivery is marked as notified. Then the host reads
 * the next page.
 *
 *	 push_poke()      deliveries wait       offer is stored      all are answered
 *	idle -----> read -------------> offer -------------> tell ---------------------> mark
 *	 ^           ^                                                                    |
 *	 |           +----- more deliveries wait, or a new guest -------------------------+
 *	 +----------------- no more; after a pause push_tick() reads again ---------------+
 *
 * An offer stores that the page's assignments may run in the guest. The offer is stored before
 * the assignments are sent. A new guest (with another boot id) also gets the deliveries that
 * the former guest got. A guest recognizes messages that it already has. A guest without room
 * for messages (Exhausted) gets only assignments. After a pause, the host tests the guest with
 * a single message. A guest without room for assignments gets only messages.
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
