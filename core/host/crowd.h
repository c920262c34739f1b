/*
 * crowd - how many clients are connected to the host's socket at once.
 *
 * Half of the descriptors that the process may have are theirs, CLIENTS_MOST at
 * most; the rest is for guests and for the host itself.  When all places are taken,
 * the client that has waited longest without ever saying anything makes room; where
 * there is none, the new one is told so and closed.
 */
#ifndef CORE_HOST_CROWD_H
#define CORE_HOST_CROWD_H

#include <stdbool.h>
#include <stddef.h>

#include "core/host/log.h"

struct host;
struct conn;

enum {
	CLIENTS_MOST = 4096,
	CLIENT_SILENT_MS = 1000, /* nobody makes room sooner: it may only have come */
};

/* The host's. */
struct crowd {
	size_t n, most;
	struct log_pause refused;
};

/* Asks the system for descriptors, and counts the places. */
void crowd_open(struct crowd *crowd);

/* Gives a new client a place; false when it was told that there is none: close it. */
bool crowd_enter(struct conn *c);
void crowd_leave(struct conn *c); /* it is closing */

#endif
