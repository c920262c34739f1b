/*
 * hosted_daemon - reports of a guest's daemon: heartbeats and results.
 *
 * A heartbeat is stored only when something changed or a lease has under half of its time left.
 * The host asks for results and stores them. After the commit the host acknowledges the results
 * to the guest, and the guest drops them.
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
/* Frees the jobs and results that wait for the daemon, when its guest is closed. */
void daemon_release(struct hosted_guest *t);

/* Collects results if the guest has any. `told`: the guest reported results. */
void collect_poke(struct hosted_guest *t, bool told);
void collect_tick(struct hosted_guest *t); /* goes on if a pause is over */

#endif
