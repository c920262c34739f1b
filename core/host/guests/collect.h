/*
 * collect - brings results from a guest into the state, losing none.
 *
 * The host asks for pages of results.  Each result is stored by an operation of its
 * own.  The next question names the result in `ack` once the result is committed, or
 * once the state will surely never take it.  A result too large for a frame comes in
 * parts, which are put together first.  A guest that reports results, but has
 * none that can be stored, is asked again after a pause: 1 s, then 2 s and so on up to 30 s.
 */
#ifndef CORE_HOST_GUESTS_COLLECT_H
#define CORE_HOST_GUESTS_COLLECT_H

#include "core/host/guests/hosted_guest.h"

/* The guest may have results; `told`: it says so. */
void collect_poke(struct hosted_guest *t, bool told);
void collect_tick(struct hosted_guest *t); /* a pause may be over */
void collect_release(struct hosted_guest *t);

#endif
