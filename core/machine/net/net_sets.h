/*
 * net_sets - a plan as the sets and maps that the rules look into.
 *
 * Each member costs no rule and a few elements: one for each set that holds the member,
 * and one for each port that the member opens.
 */
#ifndef CORE_MACHINE_NET_NET_SETS_H
#define CORE_MACHINE_NET_NET_SETS_H

#include "core/machine/net/net.h"
#include "core/machine/net/net_batch.h"

enum { NET_ICMP = 1 };

/* Maps of ports of this machine to places of members.  Public: the ports that other
 * machines may use.  Own: all ports. */
extern const char net_map_public[], net_map_own[];

static inline uint32_t net_be32(uint32_t n)
{
	return __builtin_bswap32(n);
}

/* Makes the sets of both tables, and their elements those of the plan. */
void net_sets_put(struct net_batch *b, const struct net_table *inet,
		  const struct net_table *bridge, const struct net_plan *plan);

#endif
