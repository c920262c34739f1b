/*
 * hosted_network - makes the network of VMs match the rows.
 *
 * hosted_network reads the rows whenever rows of workspaces may have changed, and every few
 * seconds. If the rows need another network, or if the machine's rules are missing, the thread
 * pool applies the whole plan. So after a restart the rules exist again before any VM is
 * started, and the rules of a destroyed team are removed with the team. A host without the
 * right to change the machine's network writes this fault into the rows, and runs its VMs
 * without a network.
 */
#ifndef CORE_HOST_WORKSPACES_HOSTED_NETWORK_H
#define CORE_HOST_WORKSPACES_HOSTED_NETWORK_H

#include <uv.h>

#include "core/machine/net/net_linux.h"

struct host;
struct network_plan;

/* State of a VM's tap interface. */
enum tap {
	TAP_LATER, /* the tap does not exist yet */
	TAP_READY, /* the tap exists, and its addresses are fixed */
	TAP_NONE, /* this host makes no network; the rows contain the reason */
};

struct hosted_network {
	const struct network *how;
	struct net_linux backend; /* `how`, unless the options name another network */
	struct network_plan *applied; /* plan in force; NULL: no plan is in force */
	struct network_plan *wanted; /* plan that is being applied */
	struct fault fault; /* fault of the last try */
	char told[512]; /* fault that the rows contain; "": no fault */
	uv_work_t work;
	bool reading, again, busy, noted;
};

/* Reads the rows, since they may have changed. */
void network_poke(struct host *host);

/* The state of the tap of a workspace that has a place in the network. */
enum tap network_tap(struct host *host, int64_t row);

#endif
