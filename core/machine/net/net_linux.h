/*
 * net_linux - makes the network of VMs on Linux, from a bridge, taps and nftables.
 */
#ifndef CORE_MACHINE_NET_NET_LINUX_H
#define CORE_MACHINE_NET_NET_LINUX_H

#include "core/machine/net/net.h"
#include "core/machine/net/net_lib.h"

struct net_linux {
	struct network network; /* the table of functions for callers */
	struct net_lib lib; /* loaded when a network is first needed */
	uint32_t generation; /* net_generation() of a time at which all rules were known
				to exist */
	char tag[5]; /* tag of the last applied plan */
	char uplinks[4][NET_NAME]; /* interfaces whose forwarding this host switched on */
	int n_uplinks;
};

void net_linux_init(struct net_linux *n);
void net_linux_release(struct net_linux *n); /* the network itself stays */

#endif
