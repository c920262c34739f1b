/*
 * bench_guests - the other end of a host's lines, for what a host itself costs.
 *
 * Light guests: one thread answers like a guest for any number of them at one
 * folder, as unix:FOLDER, and keeps nothing.  A tap: the traffic between a host
 * and one real guest passes through the tap, unchanged.  Both tell when pushes
 * were answered.
 */
#ifndef TOOLS_BENCH_BENCH_GUESTS_H
#define TOOLS_BENCH_BENCH_GUESTS_H

#include "tools/bench/stage.h"

struct guests;

/* Listens at control.sock and relay.sock in `folder`.  Input is passed to the same
 * sockets in `behind`, or answered if `behind` is NULL. */
struct guests *guests_open(const char *folder, const char *behind);
void guests_close(struct guests *g); /* NULL is fine */

/* Agent `aN` of team t works in a guest that is reached at `folder`. */
int guests_attach(struct stage *s, int agent, const char *folder);

/* Waits until `n` pushes were answered Ok since it was opened; when the last of
 * them was, as bench_now(), or -1 after `seconds`. */
int64_t guests_await(struct guests *g, int64_t n, double seconds);

#endif
