/*
 * network - the addresses that VMs may reach, stored as rows. The host sets up the network to
 * match the rows.
 *
 * A workspace with a network of its own has a slot in the range (core/base/nic.h). The
 * workspace may reach only addresses that its own row, its team and all teams above allow.
 */
#ifndef CORE_WORKSPACE_NETWORK_H
#define CORE_WORKSPACE_NETWORK_H

#include "core/call/call.h"

/* Gives a workspace a network of its own: the lowest free slot. Returns 0, or negative:
 * `exhausted` if the range has no free slot. */
int network_take(struct call *call, int64_t workspace);

#endif
