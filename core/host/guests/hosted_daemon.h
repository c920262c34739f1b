/*
 * hosted_daemon - takes the heartbeats and results of a guest's daemon.
 *
 * A heartbeat is stored only if it differs from the last stored heartbeat, if the agent's
 * status has to be set, or if a lease has less than half of its time left. The host asks for
 * results and stores them. After the commit the host acknowledges the results to the guest, and
 * the guest drops them.
 */
#ifndef CORE_HOST_GUESTS_HOSTED_DAEMON_H
#define CORE_HOST_GUESTS_HOSTED_DAEMON_H

#include "core/host/guests/hosted_guest.h"

void daemon_up(struct hosted_guest *t); /* the guest is reachable now */
/* Handles a heartbeat of the guest's daemon. Collects the results that the heartbeat reports. */
void daemon_beat(struct hosted_guest *t, struct packet *heartbeat);
/* Handles an answer of a guest of the older dialect, which sends no heartbeats. */
void daemon_pulse(struct hosted_guest *t);
void daemon_tick(struct hosted_guest *t, int64_t now);
/* After a guest was closed, frees the guest's heartbeat and results that were not stored. */
void daemon_release(struct hosted_guest *t);

/* Collects results if the guest has any. `told`: the guest reported results. */
void collect_poke(struct hosted_guest *t, bool told);
void collect_tick(struct hosted_guest *t); /* collects results if a pause has ended */

#endif
