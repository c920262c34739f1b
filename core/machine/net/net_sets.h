/*
 * net_sets - a plan as the sets and maps that the rules look into.
 *
 * Each member costs a few elements and no rule: one per set that it is in, and
 * one per port that it opens.
 */
#ifndef CORE_MACHINE_NET_NET_SETS_H
#define CORE_MACHINE_NET_NET_SETS_H

#include "core/machine/net/net.h"
#include "core/machine/net/net_batch.h"

enum { NET_ICMP = 1 };

/* Maps of ports of this machine to places of members: those that other machines
 * may use, and all of them. */
extern const char net_map_public[], net_map_own[];

static inline uint32_t net_be32(uint32_t n)
{
	return __builtin_bswap32(n);
}

/* Makes the sets of both tables, and their elements those of the plan. */
void net_sets_put(struct net_batch *b, const struct net_table *inet,
		  const struct net_table *bridge, const struct net_plan *plan);

#endif
