/*
 * crowd - how many clients are connected to the host's socket at once.
 *
 * Half of the descriptors that the process may have are theirs, CLIENTS_MOST at
 * most; the rest is for guests and for the host itself.  When all places are taken,
 * the oldest client that has never sent a frame is closed.  Without such a client, the
 * new client gets a fault and is closed.
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

/* Gives a new client a place.  False: the client got the fault that all places are taken;
 * close the client. */
bool crowd_enter(struct conn *c);
void crowd_leave(struct conn *c); /* it is closing */

#endif
