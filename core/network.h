/*
 * network - what VMs may reach, as rows; the host makes it true.
 *
 * A workspace with a network of its own has a slot in the range (core/base/nic.h).
 * What it is allowed is the least of what its team, the teams above and its
 * own row say.
 */
#ifndef CORE_NETWORK_H
#define CORE_NETWORK_H

#include "core/call.h"

/* Gives a workspace a network of its own: the lowest free slot.  `exhausted`
 * when the range has none. */
int network_take(struct call *call, int64_t workspace);

#endif
