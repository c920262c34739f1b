/*
 * net_linux - the network of VMs as Linux has it: a bridge, taps, nftables.
 */
#ifndef CORE_MACHINE_NET_NET_LINUX_H
#define CORE_MACHINE_NET_NET_LINUX_H

#include "core/machine/net/net.h"
#include "core/machine/net/net_lib.h"

struct net_linux {
	struct network network; /* the table to give to callers */
	struct net_lib lib; /* opened when it is first used */
	uint32_t generation; /* of the machine's rules when ours were whole */
	char tag[5]; /* of the plan applied last */
	char uplinks[4][NET_NAME]; /* that route since we said so */
	int n_uplinks;
};

void net_linux_init(struct net_linux *n);
void net_linux_release(struct net_linux *n); /* what is made stays */

#endif
