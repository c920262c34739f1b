#include "core/machine/net/net_rules.h"

#include <linux/if_ether.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter_bridge.h>
#include <linux/netfilter_ipv4.h>
#include <linux/rtnetlink.h>
#include <stdio.h>

#include "core/machine/net/net_expr.h"
#include "core/machine/net/net_sets.h"

/* Offsets of fields in a packet, each from the start of the header that is named. */
enum {
	FRAME_SOURCE = 6, /* frame */
	FRAME_TYPE = 12,
	ARP_KIND = 0, /* network header */
	ARP_MAC = 8,
	ARP_IP = 14,
	IP_SOURCE = 12,
	IP_DESTINATION = 16,
	SOURCE_PORT = 0, /* transport header */
	DESTINATION_PORT = 2,
};

static const struct net_chain inet_chains[] = {
	{ "open", NULL, 0, 0, 0 },
	{ "forward", "filter", NF_INET_FORWARD, NF_IP_PRI_FILTER, NF_DROP },
	{ "input", "filter", NF_INET_LOCAL_IN, NF_IP_PRI_FILTER, NF_ACCEPT },
	{ "prerouting", "nat", NF_INET_PRE_ROUTING, NF_IP_PRI_NAT_DST, NF_ACCEPT },
	{ "output", "nat", NF_INET_LOCAL_OUT, NF_IP_PRI_NAT_DST, NF_ACCEPT },
	{ "postrouting", "nat", NF_INET_POST_ROUTING, NF_IP_PRI_NAT_SRC, NF_ACCEPT },
};

static const struct net_chain bridge_chains[] = {
	{ "prerouting", "filter", NF_BR_PRE_ROUTING, NF_BR_PRI_FILTER_BRIDGED, NF_DROP },
};

enum {
	N_INET_CHAINS = sizeof(inet_chains) / sizeof(inet_chains[0]),
	N_BRIDGE_CHAINS = sizeof(bridge_chains) / sizeof(bridge_chains[0]),
};

/* A transaction under way, and what its rules have in common. */
struct rules {
	struct net_batch batch;
	struct net_table inet, bridge;
	char name[NET_NAME], interface[NET_NAME];
	const struct net_plan *plan;
};

void net_bridge_name(char name[NET_NAME], const char *tag)
{
	snprintf(name, NET_NAME, "br-cadre%.4s", tag);
}

static void net_rules_begin(struct rules *r, const struct net_lib *lib, const char *tag)
{
	net_batch_begin(&r->batch, lib);
	snprintf(r->name, sizeof(r->name), "cadre%.4s", tag);
	net_bridge_name(r->interface, tag);
	r->inet = (struct net_table){ NFPROTO_INET, r->name };
	r->bridge = (struct net_table){ NFPROTO_BRIDGE, r->name };
}

static void end_inet(struct rules *r, const char *chain, struct net_rule *rule)
{
	net_batch_rule(&r->batch, &r->inet, chain, rule->rule);
}

/* --- what is pinned -------------------------------------------------------------- */

static void end_pinned(struct rules *r, struct net_rule *rule)
{
	net_judge(rule, NF_ACCEPT, NULL);
	net_batch_rule(&r->batch, &r->bridge, "prerouting", rule->rule);
}

/* iifname . HARDWARE ADDRESS . IPV4 ADDRESS @source; both are read from `base`. */
static void match_source(struct net_rule *rule, uint32_t mac_base, uint32_t mac,
			 uint32_t ip)
{
	net_load_meta(rule, NFT_META_IIFNAME, R(0));
	net_load_bytes(rule, mac_base, mac, 6, R(4));
	net_load_bytes(rule, NFT_PAYLOAD_NETWORK_HEADER, ip, 4, R(6));
	net_match_set(rule, R(0), true, "source");
}

static void match_frame(struct net_rule *rule, uint8_t high, uint8_t low)
{
	net_load_bytes(rule, NFT_PAYLOAD_LL_HEADER, FRAME_TYPE, 2, NFT_REG_1);
	net_match(rule, NFT_REG_1, true, (const uint8_t[]){ high, low }, 2);
}

static void pin(struct rules *r)
{
	static const uint8_t ethernet_ipv4[] = { 0, 1, 8, 0, 6, 4 };
	struct net_rule rule = net_rule_new(r->batch.lib);

	/* Ports of other bridges: none of ours to judge. */
	net_load_meta(&rule, NFT_META_IIFNAME, NFT_REG_1);
	net_match_set(&rule, NFT_REG_1, false, "tap");
	end_pinned(r, &rule);

	rule = net_rule_new(r->batch.lib);
	match_frame(&rule, ETH_P_IP >> 8, ETH_P_IP & 255);
	match_source(&rule, NFT_PAYLOAD_LL_HEADER, FRAME_SOURCE, IP_SOURCE);
	end_pinned(r, &rule);

	rule = net_rule_new(r->batch.lib);
	match_frame(&rule, ETH_P_ARP >> 8, ETH_P_ARP & 255);
	net_load_bytes(&rule, NFT_PAYLOAD_NETWORK_HEADER, ARP_KIND, 6, NFT_REG_1);
	net_match(&rule, NFT_REG_1, true, ethernet_ipv4, 6);
	match_source(&rule, NFT_PAYLOAD_LL_HEADER, FRAME_SOURCE, ARP_IP);
	match_source(&rule, NFT_PAYLOAD_NETWORK_HEADER, ARP_MAC, ARP_IP);
	end_pinned(r, &rule);
}

/* --- who reaches whom -------------------------------------------------------------- */

/* An ICMP error belongs to the connection that the error tells of, whoever sent the
 * error.  So members get no errors from other members. */
static void match_own(struct net_rule *rule)
{
	net_load_ct(rule, NFT_CT_STATE, NFT_REG_1);
	net_match_mask(rule, NFT_REG_1, true, NF_CT_STATE_BIT(IP_CT_RELATED), 0, 4);
}

/* The one who opened the connection is of a group; the group reaches the one to
 * whom it was opened.  The mark carries the group from the map to the set. */
static void let_reach(struct rules *r, const char *groups)
{
	struct net_rule rule = net_rule_new(r->batch.lib);

	net_load_original(&rule, NFT_CT_SRC_IP, R(0));
	net_load_map(&rule, groups, R(0), R(0));
	net_set_mark(&rule, R(0));
	net_load_meta(&rule, NFT_META_MARK, R(0));
	net_load_original(&rule, NFT_CT_DST_IP, R(1));
	net_match_set(&rule, R(0), true, "reach");
	match_own(&rule);
	net_set_number(&rule, R(0), 0);
	net_set_mark(&rule, R(0));
	net_judge(&rule, NFT_JUMP, "open");
	end_inet(r, "forward", &rule);
}

/* ADDRESS . PROTOCOL . PORT @set, of the packet itself. */
static void match_place(struct net_rule *rule, uint32_t address, uint32_t port,
			const char *set)
{
	net_match_ipv4(rule);
	net_load_bytes(rule, NFT_PAYLOAD_NETWORK_HEADER, address, 4, R(0));
	net_load_meta(rule, NFT_META_L4PROTO, R(1));
	net_load_bytes(rule, NFT_PAYLOAD_TRANSPORT_HEADER, port, 2, R(2));
	net_match_set(rule, R(0), true, set);
}

static void match_direction(struct net_rule *rule, uint8_t direction)
{
	net_load_ct(rule, NFT_CT_DIRECTION, NFT_REG_1);
	net_match_byte(rule, NFT_REG_1, true, direction);
}

static void match_protocol(struct net_rule *rule, bool is, uint8_t protocol)
{
	net_load_meta(rule, NFT_META_L4PROTO, NFT_REG_1);
	net_match_byte(rule, NFT_REG_1, is, protocol);
}

/* Accepts the traffic that is allowed between members: ping, answers and open ports. */
static void open_ports(struct rules *r)
{
	struct net_rule rule = net_rule_new(r->batch.lib);

	match_protocol(&rule, true, NET_ICMP);
	net_judge(&rule, NF_ACCEPT, NULL);
	end_inet(r, "open", &rule);

	rule = net_rule_new(r->batch.lib);
	match_direction(&rule, 1);
	net_judge(&rule, NF_ACCEPT, NULL);
	end_inet(r, "open", &rule);

	rule = net_rule_new(r->batch.lib);
	net_match_ipv4(&rule);
	net_load_bytes(&rule, NFT_PAYLOAD_NETWORK_HEADER, IP_DESTINATION, 4, NFT_REG_1);
	net_match_set(&rule, NFT_REG_1, true, "unlimited");
	net_judge(&rule, NF_ACCEPT, NULL);
	end_inet(r, "open", &rule);

	rule = net_rule_new(r->batch.lib);
	match_place(&rule, IP_DESTINATION, DESTINATION_PORT, "port");
	net_judge(&rule, NF_ACCEPT, NULL);
	end_inet(r, "open", &rule);
}

static void match_outside(struct net_rule *rule, uint32_t base, int prefix)
{
	uint32_t mask = net_be32(UINT32_MAX << (32 - prefix));

	net_load_original(rule, NFT_CT_DST_IP, NFT_REG_1);
	net_match_mask(rule, NFT_REG_1, false, mask, net_be32(base), 4);
}

/* Matches packets from the bridge to elsewhere, or, without `out`, the other way. */
static void match_way(struct rules *r, struct net_rule *rule, bool out)
{
	net_match_name(rule, NFT_META_IIFNAME, out, r->interface);
	net_match_name(rule, NFT_META_OIFNAME, !out, r->interface);
}

/* Connections that members open to anywhere but members and what is only of
 * this machine's link, such as a cloud's keys at 169.254.169.254. */
static void let_out(struct rules *r)
{
	struct net_rule rule = net_rule_new(r->batch.lib);

	match_way(r, &rule, true);
	net_match_ipv4(&rule);
	net_load_bytes(&rule, NFT_PAYLOAD_NETWORK_HEADER, IP_SOURCE, 4, NFT_REG_1);
	net_match_set(&rule, NFT_REG_1, true, "outward");
	match_outside(&rule, r->plan->base, r->plan->prefix);
	match_outside(&rule, 0xa9fe0000, 16);
	match_direction(&rule, 0);
	net_judge(&rule, NF_ACCEPT, NULL);
	end_inet(r, "forward", &rule);

	rule = net_rule_new(r->batch.lib);
	match_way(r, &rule, false);
	net_load_original(&rule, NFT_CT_SRC_IP, NFT_REG_1);
	net_match_set(&rule, NFT_REG_1, true, "outward");
	match_direction(&rule, 1);
	net_judge(&rule, NF_ACCEPT, NULL);
	end_inet(r, "forward", &rule);
}

static struct net_rule forwarded(struct rules *r, bool out)
{
	struct net_rule rule = net_rule_new(r->batch.lib);

	match_way(r, &rule, out);
	net_load_ct(&rule, NFT_CT_STATUS, NFT_REG_1);
	net_match_mask(&rule, NFT_REG_1, false, IPS_DST_NAT, 0, 4);
	return rule;
}

/* Connections to forwarded ports, from other machines. */
static void net_rules_let_in(struct rules *r)
{
	struct net_rule rule = forwarded(r, false);

	match_protocol(&rule, true, NET_ICMP);
	net_judge(&rule, NF_ACCEPT, NULL);
	end_inet(r, "forward", &rule);

	rule = forwarded(r, false);
	match_direction(&rule, 0);
	match_place(&rule, IP_DESTINATION, DESTINATION_PORT, "forwarded");
	net_judge(&rule, NF_ACCEPT, NULL);
	end_inet(r, "forward", &rule);

	rule = forwarded(r, true);
	match_direction(&rule, 1);
	match_place(&rule, IP_SOURCE, SOURCE_PORT, "forwarded");
	net_judge(&rule, NF_ACCEPT, NULL);
	end_inet(r, "forward", &rule);
}

static void forward(struct rules *r)
{
	struct net_rule rule = net_rule_new(r->batch.lib);

	net_match_name(&rule, NFT_META_IIFNAME, false, r->interface);
	net_match_name(&rule, NFT_META_OIFNAME, false, r->interface);
	net_judge(&rule, NF_ACCEPT, NULL);
	end_inet(r, "forward", &rule);
	let_reach(r, "group");
	let_reach(r, "above");
	let_out(r);
	net_rules_let_in(r);
}

/* Keeps VMs from this machine itself: VMs may only answer and ping this machine. */
static void guard_host(struct rules *r)
{
	struct net_rule rule = net_rule_new(r->batch.lib);

	net_match_name(&rule, NFT_META_IIFNAME, true, r->interface);
	match_direction(&rule, 1);
	net_judge(&rule, NF_ACCEPT, NULL);
	end_inet(r, "input", &rule);

	rule = net_rule_new(r->batch.lib);
	net_match_name(&rule, NFT_META_IIFNAME, true, r->interface);
	match_protocol(&rule, false, NET_ICMP);
	net_judge(&rule, NF_DROP, NULL);
	end_inet(r, "input", &rule);
}

/* --- addresses that are changed ------------------------------------------------------ */

static void lead_in(struct rules *r, const char *chain, const char *map)
{
	struct net_rule rule = net_rule_new(r->batch.lib);
	uint32_t local = RTN_LOCAL;

	if (map == net_map_public)
		net_match_name(&rule, NFT_META_IIFNAME, false, r->interface);
	net_match_ipv4(&rule);
	net_load_destination_type(&rule, NFT_REG_1);
	net_match(&rule, NFT_REG_1, true, &local, sizeof(local));
	net_load_meta(&rule, NFT_META_L4PROTO, R(0));
	net_load_bytes(&rule, NFT_PAYLOAD_TRANSPORT_HEADER, DESTINATION_PORT, 2, R(1));
	net_load_map(&rule, map, R(0), R(0));
	net_send_to(&rule, R(0));
	end_inet(r, chain, &rule);
}

static void translate(struct rules *r)
{
	struct net_rule rule;

	lead_in(r, "prerouting", net_map_public);
	lead_in(r, "output", net_map_own);

	/* Members outside, and 127.0.0.1 to members: both mean nothing there. */
	rule = net_rule_new(r->batch.lib);
	net_match_name(&rule, NFT_META_OIFNAME, false, "lo");
	net_match_ipv4(&rule);
	net_load_bytes(&rule, NFT_PAYLOAD_NETWORK_HEADER, IP_SOURCE, 4, NFT_REG_1);
	net_match_set(&rule, NFT_REG_1, true, "outward");
	match_outside(&rule, r->plan->base, r->plan->prefix);
	net_masquerade(&rule);
	end_inet(r, "postrouting", &rule);
}

/* --- transactions ---------------------------------------------------------------------- */

static void say_chains(struct rules *r, bool remove)
{
	for (size_t i = 0; i < N_INET_CHAINS; i++) {
		struct net_chain c = inet_chains[i];

		c.policy = remove ? NF_ACCEPT : c.policy;
		net_batch_chain(&r->batch, &r->inet, &c);
	}
	for (size_t i = 0; i < N_BRIDGE_CHAINS; i++) {
		struct net_chain c = bridge_chains[i];

		c.policy = remove ? NF_ACCEPT : c.policy;
		net_batch_chain(&r->batch, &r->bridge, &c);
	}
}

static void begin_tables(struct rules *r, const struct net_lib *lib, const char *tag)
{
	net_rules_begin(r, lib, tag);
	net_batch_table(&r->batch, &r->inet);
	net_batch_table(&r->batch, &r->bridge);
	net_batch_flush(&r->batch, &r->inet);
	net_batch_flush(&r->batch, &r->bridge);
}

static int net_rules_send(const struct net_lib *lib, const struct net_plan *plan,
			  struct fault *f)
{
	struct rules r = { .plan = plan };

	begin_tables(&r, lib, plan->tag);
	say_chains(&r, false);
	net_sets_put(&r.batch, &r.inet, &r.bridge, plan);
	pin(&r);
	forward(&r);
	open_ports(&r);
	guard_host(&r);
	translate(&r);
	return net_batch_commit(&r.batch, f);
}

int net_rules_apply(const struct net_lib *lib, const struct net_plan *plan,
		    struct fault *f)
{
	struct fault first = { 0 };

	if (net_rules_send(lib, plan, &first) == 0)
		return 0;
	/* Tables that another cadre made may not fit: ours are made anew. */
	if (net_rules_remove(lib, plan->tag, &first) == 0)
		return net_rules_send(lib, plan, f);
	*f = first;
	return first.code;
}

/* Removes our tables.  While a table ends, its chains are empty for an instant but still
 * there: their policy is made to accept first, so that packets that are not ours pass
 * all the time. */
int net_rules_remove(const struct net_lib *lib, const char *tag, struct fault *f)
{
	struct rules r = { 0 };
	struct fault ignored = { 0 };

	begin_tables(&r, lib, tag);
	say_chains(&r, true);
	net_batch_commit(&r.batch, &ignored);
	net_rules_begin(&r, lib, tag);
	net_batch_table(&r.batch, &r.inet);
	net_batch_table(&r.batch, &r.bridge);
	net_batch_delete(&r.batch, &r.inet);
	net_batch_delete(&r.batch, &r.bridge);
	return net_batch_commit(&r.batch, f);
}

int net_rules_count(const struct net_lib *lib, const char *tag, size_t *n,
		    struct fault *f)
{
	struct rules r;
	size_t bridge;
	int rc;

	snprintf(r.name, sizeof(r.name), "cadre%.4s", tag);
	r.inet = (struct net_table){ NFPROTO_INET, r.name };
	r.bridge = (struct net_table){ NFPROTO_BRIDGE, r.name };
	if ((rc = net_table_rules(lib, &r.inet, n, f)) < 0 ||
	    (rc = net_table_rules(lib, &r.bridge, &bridge, f)) < 0)
		return rc;
	*n += bridge;
	return 0;
}
