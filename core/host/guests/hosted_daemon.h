/*
 * hosted_daemon - reports of a guest's daemon: heartbeats and results.
 *
 * A heartbeat changes a row only when something changed or a lease is under
 * half.  Results are asked for, stored, and acknowledged to the guest only
 * after the commit; the guest drops them then.
 */
#ifndef CORE_HOST_GUESTS_HOSTED_DAEMON_H
#define CORE_HOST_GUESTS_HOSTED_DAEMON_H

#include "core/host/guests/hosted_guest.h"

void daemon_up(struct hosted_guest *t); /* the guest answers now */
/* Takes in a heartbeat of the guest's daemon; results that it speaks of are collected. */
void daemon_beat(struct hosted_guest *t, struct packet *heartbeat);
/* A guest of the older dialect sends none, but has answered. */
void daemon_pulse(struct hosted_guest *t);
void daemon_tick(struct hosted_guest *t, int64_t now);
/* Frees what waits for the daemon; its guest is closed. */
void daemon_release(struct hosted_guest *t);

/* The guest may have results; `told`: it says so. */
void collect_poke(struct hosted_guest *t, bool told);
void collect_tick(struct hosted_guest *t); /* a pause may be over */

#endif
