/*
 * halt - tells guests that the commands of a stopped team stand still, or go on.
 */
#ifndef CORE_HOST_GUESTS_HALT_H
#define CORE_HOST_GUESTS_HALT_H

#include "core/host/guests/hosted_guest.h"

/* Takes what a workspace's row says: whether its team is stopped, and what was last written
 * down of its guest, which is told where it does otherwise. */
void halt_want(struct hosted_guest *t, bool stopped, bool written);

/* Takes what a guest that has just answered a Hello can do. */
void halt_greeted(struct hosted_guest *t, bool knows_halt);

#endif
