/*
 * net_rules - the rules that decide which members may reach each member, as a table `inet
 * cadreTAG` and a table `bridge cadreTAG` of nftables.
 *
 * The rules are always the same; sets name the members, with a few elements for each member.
 * VMs do not reach each other through the bridge, since the bridge's ports are isolated, and
 * the bridge answers ARP for all members. So this machine routes every packet, and `inet`
 * judges each packet by its connection. A connection passes as long as its opener may open it
 * now. So a connection that is no longer allowed ends, and an allowed connection continues.
 *
 * IPv4 carries errors too. An error belongs to the connection that the error reports. Errors of
 * members pass only to the outside, and only from members that may reach the outside.
 *
 * `bridge` pins each tap to its hardware and IPv4 address, in frames and in ARP. Only ARP and
 * IPv4 pass.
 */
#ifndef CORE_MACHINE_NET_NET_RULES_H
#define CORE_MACHINE_NET_NET_RULES_H

#include "core/machine/net/net.h"
#include "core/machine/net/net_batch.h"

/* Writes the bridge's name, "br-cadreTAG". */
void net_bridge_name(char name[NET_NAME], const char *tag);

/* Replaces all rules by the rules of the plan, in one transaction. */
int net_rules_apply(const struct net_lib *lib, const struct net_plan *plan,
		    struct fault *f);
int net_rules_remove(const struct net_lib *lib, const char *tag, struct fault *f);

/* Counts the rules that exist now; a whole plan has NET_RULES rules. */
enum { NET_RULES = 20 };
int net_rules_count(const struct net_lib *lib, const char *tag, size_t *n,
		    struct fault *f);

#endif
