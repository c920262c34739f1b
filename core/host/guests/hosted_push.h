/*
 * hosted_push - tells a guest of deliveries, in order, as soon as they are committed.
 *
 * A page of waiting deliveries is read, sent over the relay connection, and those
 * that the guest has taken (Ok) are marked notified; then the next page.
 *
 *	 push_poke()      there are some        written down         all are answered
 *	idle -----> read -------------> offer -------------> tell ---------------------> mark
 *	 ^           ^                                                                    |
 *	 |           +----- more, another poke, or the guest is another one by now -------+
 *	 +----------------- else; after a refusal push_tick() reads again ----------------+
 *
 * Only assignments are offered: from then on they may run.  A guest that is new (another
 * boot id) gets the deliveries of the guest before it again; a guest recognizes messages
 * that it already has.  A guest without room for messages (Exhausted) is told of assignments,
 * and after a pause of a single message; one without room for assignments is told of messages.
 */
#ifndef CORE_HOST_GUESTS_HOSTED_PUSH_H
#define CORE_HOST_GUESTS_HOSTED_PUSH_H

#include "core/host/guests/hosted_guest.h"

void push_up(struct hosted_guest *t, bool anew); /* the guest answers now */
void push_poke(struct hosted_guest *t); /* something may be waiting */
/* Tries again when the pause after a failure is over at `now`. */
void push_tick(struct hosted_guest *t, int64_t now);
/* Frees the page and its mark, once the guest is closed. */
void push_release(struct hosted_guest *t);

#endif
