/*
 * network - stores as rows the addresses that VMs may reach. The host sets up the network as
 * the rows say.
 *
 * A workspace with its own network has a slot in the range network.range (core/base/nic.h). The
 * workspace may reach an address only if the workspace's row, the team and all teams above
 * allow this address.
 */
#ifndef CORE_WORKSPACE_NETWORK_H
#define CORE_WORKSPACE_NETWORK_H

#include "core/call/call.h"

/* Gives a workspace its own network, at the lowest free slot. Returns 0 or a negative fault
 * code, which is `exhausted` if the range has no free slot. */
int network_take(struct call *call, int64_t workspace);

#endif
