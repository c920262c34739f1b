/*
 * hosted_network - makes the network of VMs be what the rows say.
 *
 * Whenever rows of workspaces may have changed, and every few seconds, it reads
 * the rows.  When the rows ask for another network than the present one, or somebody
 * has flushed the machine's rules, the whole plan is applied on the thread pool.  So
 * after a restart the rules are there again before any VM is started, and the rules of
 * a destroyed team are gone with the team.  A host that may not change the network
 * says so in the rows and runs its VMs without one.
 */
#ifndef CORE_HOST_WORKSPACES_HOSTED_NETWORK_H
#define CORE_HOST_WORKSPACES_HOSTED_NETWORK_H

#include <uv.h>

#include "core/machine/net/net_linux.h"

struct host;
struct network_plan;

/* State of a VM's tap interface. */
enum tap {
	TAP_LATER, /* its tap will be there */
	TAP_READY, /* its tap is there, pinned */
	TAP_NONE, /* this host makes no network: see the rows for why */
};

struct hosted_network {
	const struct network *how;
	struct net_linux backend; /* `how`, unless the options say another one */
	struct network_plan *applied; /* in force; NULL: nothing is */
	struct network_plan *wanted; /* being applied */
	struct fault fault; /* of the last time */
	char told[512]; /* the fault that the rows know; empty: none */
	uv_work_t work;
	bool reading, again, busy, noted;
};

/* Rows may have changed. */
void network_poke(struct host *host);

/* The state of the tap of a workspace that has a place in the network. */
enum tap network_tap(struct host *host, int64_t row);

#endif
