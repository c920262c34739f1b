/*
 * collect - brings results from a guest into the state, losing none.
 *
 * Asked for in pages; each result is stored by an operation of its own, and
 * named in the next question's `ack` once that is committed.  A result too
 * large for a frame comes in parts, which are put together first.
 */
#ifndef COLLECT_H
#define COLLECT_H

#include "core/host/tether.h"

void collect_poke(struct tether *t); /* the guest may have results */
void collect_release(struct tether *t);

#endif
