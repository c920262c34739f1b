/*
 * hosted_network - makes the network of VMs match the workspaces' rows.
 *
 * hosted_network reads the rows whenever rows of workspaces may have changed, and every few
 * seconds. If the rows need another network, or if rules are missing on the machine, the thread
 * pool applies the whole plan. So after a restart of the machine the rules exist again before
 * any VM is started. When a team is destroyed, the rules for its VMs are removed too. If a host
 * has no right to change the machine's network, the host writes a fault into the rows, and runs
 * its VMs without a network.
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
	TAP_READY, /* the tap exists, and rules allow only the VM's own addresses at the
		      tap */
	TAP_NONE, /* this host makes no network; the rows contain the reason */
};

struct hosted_network {
	const struct network *how;
	struct net_linux backend; /* `how` points into this struct, unless the host's
				     options set `how` */
	struct network_plan *applied; /* plan that was applied last, or NULL */
	struct network_plan *wanted; /* plan that is being applied */
	struct fault fault; /* fault of the last try to make or apply a plan */
	char told[512]; /* text of the fault in the rows; "": no fault */
	uv_work_t work;
	bool reading, again, busy, noted;
};

/* Reads the workspaces' rows again, since the rows may have changed. */
void network_poke(struct host *host);

/* The state of the tap of the workspace with this row. The workspace must have a slot in the
 * network. */
enum tap network_tap(struct host *host, int64_t row);

#endif
