/*
 * net_rules - the rules that decide which member may reach which other member. The rules are
 * the table `inet cadreTAG` and the table `bridge cadreTAG` of nftables.
 *
 * The rules are always the same; sets contain the members, with a few elements for each member.
 * The ports of the bridge are isolated, so VMs do not reach each other through the bridge. The
 * bridge answers ARP for all members, so this machine routes every packet. The table `inet`
 * judges each routed packet by its connection. A packet passes only if the opener of its
 * connection may still open such a connection. So a connection that is no longer allowed ends,
 * and an allowed connection continues.
 *
 * IPv4 also carries ICMP errors. An ICMP error belongs to the connection that the error
 * reports. A member's ICMP errors pass only to the outside, and only if the member may reach
 * the outside.
 *
 * The table `bridge` pins each tap to its hardware address and its IPv4 address, in frames and
 * in ARP. From taps, only ARP and IPv4 pass.
 */
#ifndef CORE_MACHINE_NET_NET_RULES_H
#define CORE_MACHINE_NET_NET_RULES_H

#include "core/machine/net/net.h"
#include "core/machine/net/net_batch.h"

/* Writes the bridge's name, "br-cadreTAG". */
void net_bridge_name(char name[NET_NAME], const char *tag);

/* Replaces all existing rules of the network by the rules of the plan, in one transaction. */
int net_rules_apply(const struct net_lib *lib, const struct net_plan *plan,
		    struct fault *f);
int net_rules_remove(const struct net_lib *lib, const char *tag, struct fault *f);

/* net_rules_count() counts the existing rules of a tag. A plan always has NET_RULES rules. */
enum { NET_RULES = 20 };
int net_rules_count(const struct net_lib *lib, const char *tag, size_t *n,
		    struct fault *f);

#endif
