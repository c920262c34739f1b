#include "core/machine/net/net_rules.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter_bridge.h>
#include <linux/netfilter_ipv4.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

/*
 * net_sets - converts a plan to the sets and maps that the rules use.
 *
 * The rules do not name members. A member is only a few elements of sets and maps; each open
 * port of the member is an element of a set, too.
 */

enum { NET_ICMP = 1 };

/* Maps from ports of this machine to addresses and ports of members. The map `public` contains
 * the ports that other machines may use. The map `own` contains all forwarded ports, for
 * programs of this machine. */
static const char net_map_public[] = "public", net_map_own[] = "own";

/* The numbers of nft for the types of keys, from nft's include/datatype.h. If a key has several
 * parts, its type consists of the numbers of all parts, with six bits for each part. */
enum {
	IPV4 = 7,
	ETHER = 9,
	PROTOCOL = 12,
	SERVICE = 13,
	MARK = 19,
	IFNAME = 41,
};

#define TWO(a, b) ((a) << 6 | (b))
#define THREE(a, b, c) (TWO(a, b) << 6 | (c))

enum { TCP = 6, UDP = 17, LOOPBACK = 0x7f000001 };

/* Elements of a set or map that are not yet in a message. Each part of an element's key is
 * padded to a multiple of four bytes. */
struct elements {
	uint8_t *keys, *values;
	size_t n, room;
	size_t at; /* offset of the next part in the last key */
};

static void net_sets_add(struct elements *e)
{
	if (e->n == e->room) {
		e->room = e->room ? 2 * e->room : 64;
		e->keys = xreallocarray(e->keys, e->room, NET_KEY);
		e->values = xreallocarray(e->values, e->room, NET_VALUE);
	}
	memset(e->keys + e->n * NET_KEY, 0, NET_KEY);
	memset(e->values + e->n * NET_VALUE, 0, NET_VALUE);
	e->n++;
	e->at = 0;
}

static void part(struct elements *e, const void *data, size_t size)
{
	memcpy(e->keys + (e->n - 1) * NET_KEY + e->at, data, size);
	e->at += (size + 3) & ~(size_t)3;
}

static void part_ip(struct elements *e, uint32_t ip)
{
	part(e, &(uint32_t){ htonl(ip) }, 4);
}

static void part_service(struct elements *e, uint8_t protocol, uint16_t port)
{
	part(e, &protocol, 1);
	part(e, &(uint16_t){ htons(port) }, 2);
}

static void net_sets_say(struct net_batch *b, const struct net_table *t,
			 const struct net_set *set, struct elements *e)
{
	net_batch_set(b, t, set);
	net_batch_fill(b, t, set, e->keys, e->values, e->n);
	e->n = 0;
}

/* --- sets of members ----------------------------------------------------------------- */

/* The number of the group that contains the leads of a team's sub-teams. These leads may reach
 * the members of the team, but not each other. */
static uint32_t from_below(uint32_t team)
{
	return team | 1u << 31;
}

typedef void fill(struct elements *e, const struct net_member *m);

static void fill_tap(struct elements *e, const struct net_member *m)
{
	net_sets_add(e);
	part(e, m->tap, sizeof(m->tap));
}

static void fill_source(struct elements *e, const struct net_member *m)
{
	fill_tap(e, m);
	part(e, m->mac, sizeof(m->mac));
	part_ip(e, m->ip);
}

static void add_group(struct elements *e, uint32_t ip, uint32_t group)
{
	net_sets_add(e);
	part_ip(e, ip);
	memcpy(e->values + (e->n - 1) * NET_VALUE, &group, sizeof(group));
}

static void fill_group(struct elements *e, const struct net_member *m)
{
	if (m->inter_vm)
		add_group(e, m->ip, m->team);
}

static void fill_above(struct elements *e, const struct net_member *m)
{
	if (m->inter_vm && m->parent)
		add_group(e, m->ip, from_below(m->parent));
}

static void add_reach(struct elements *e, uint32_t group, uint32_t ip)
{
	net_sets_add(e);
	part(e, &group, sizeof(group));
	part_ip(e, ip);
}

static void fill_reach(struct elements *e, const struct net_member *m)
{
	if (!m->inter_vm)
		return;
	add_reach(e, m->team, m->ip);
	add_reach(e, from_below(m->team), m->ip);
	if (m->parent)
		add_reach(e, m->parent, m->ip);
}

static void fill_ip(struct elements *e, const struct net_member *m)
{
	net_sets_add(e);
	part_ip(e, m->ip);
}

static void fill_unlimited(struct elements *e, const struct net_member *m)
{
	if (m->all_ports)
		fill_ip(e, m);
}

static void fill_port(struct elements *e, const struct net_member *m)
{
	static const uint8_t protocols[] = { TCP, UDP };

	for (size_t i = 0; i < m->n_ports && !m->all_ports; i++) {
		for (size_t k = 0; k < 2; k++) {
			fill_ip(e, m);
			part_service(e, protocols[k], m->ports[i]);
		}
	}
}

static const struct {
	bool bridge; /* the set is in the table of family bridge; else inet */
	struct net_set set;
	fill *fill;
} member_sets[] = {
	{ true, { "tap", IFNAME, 16, .host_key = true }, fill_tap },
	{ true,
	  { "source", THREE(IFNAME, ETHER, IPV4), 28, .data_size = 0 },
	  fill_source },
	{ false, { "group", IPV4, 4, MARK, 4, .host_data = true }, fill_group },
	{ false, { "above", IPV4, 4, MARK, 4, .host_data = true }, fill_above },
	{ false, { "reach", TWO(MARK, IPV4), 8, .data_size = 0 }, fill_reach },
	{ false, { "unlimited", IPV4, 4, .data_size = 0 }, fill_unlimited },
	{ false,
	  { "port", THREE(IPV4, PROTOCOL, SERVICE), 12, .data_size = 0 },
	  fill_port },
};

/* --- sets of forwarded ports ------------------------------------------------------------- */

static void add_forward(struct elements *e, const struct net_forward *f)
{
	uint32_t ip = htonl(f->ip);
	uint16_t port = htons(f->to);
	uint8_t *value;

	net_sets_add(e);
	part_service(e, f->protocol, f->port);
	value = e->values + (e->n - 1) * NET_VALUE;
	memcpy(value, &ip, sizeof(ip));
	memcpy(value + 4, &port, sizeof(port));
}

static void put_forwards(struct net_batch *b, const struct net_table *t,
			 const struct net_plan *plan, const char *map, struct elements *e)
{
	const struct net_set set = { .name = map,
				     .key_type = TWO(PROTOCOL, SERVICE),
				     .key_size = 8,
				     .data_type = TWO(IPV4, SERVICE),
				     .data_size = 8 };

	for (size_t i = 0; i < plan->n_forwards; i++)
		if (map == net_map_own || plan->forwards[i].open)
			add_forward(e, &plan->forwards[i]);
	net_sets_say(b, t, &set, e);
}

/* Whether an earlier open forward leads to the same port of the same member. The element of
 * that port must not be added to a set twice. */
static bool net_sets_is_said(const struct net_plan *plan, size_t i)
{
	const struct net_forward *f = &plan->forwards[i];

	for (size_t k = 0; k < i; k++) {
		const struct net_forward *g = &plan->forwards[k];

		if (g->open && g->ip == f->ip && g->protocol == f->protocol &&
		    g->to == f->to)
			return true;
	}
	return false;
}

static void put_forwarded(struct net_batch *b, const struct net_table *t,
			  const struct net_plan *plan, struct elements *e)
{
	const struct net_set set = { .name = "forwarded",
				     .key_type = THREE(IPV4, PROTOCOL, SERVICE),
				     .key_size = 12 };

	for (size_t i = 0; i < plan->n_forwards; i++) {
		const struct net_forward *f = &plan->forwards[i];

		if (!f->open || net_sets_is_said(plan, i))
			continue;
		net_sets_add(e);
		part_ip(e, f->ip);
		part_service(e, f->protocol, f->to);
	}
	net_sets_say(b, t, &set, e);
}

/* Fills the set of source addresses that are masqueraded when a packet leaves the network of
 * the VMs. The set contains the addresses of the members that may reach the outside. If the
 * plan has forwards, the set also contains 127.0.0.1. */
static void put_outward(struct net_batch *b, const struct net_table *t,
			const struct net_plan *plan, struct elements *e)
{
	const struct net_set set = { "outward", IPV4, 4, .data_size = 0 };

	for (size_t i = 0; i < plan->n_members; i++)
		if (plan->members[i].internet)
			fill_ip(e, &plan->members[i]);
	if (plan->n_forwards) {
		net_sets_add(e);
		part_ip(e, LOOPBACK);
	}
	net_sets_say(b, t, &set, e);
}

/* Makes the sets of both tables and fills them from the plan. */
static void net_sets_put(struct net_batch *b, const struct net_table *inet,
			 const struct net_table *bridge, const struct net_plan *plan)
{
	struct elements e = { 0 };

	for (size_t i = 0; i < sizeof(member_sets) / sizeof(member_sets[0]); i++) {
		for (size_t k = 0; k < plan->n_members; k++)
			member_sets[i].fill(&e, &plan->members[k]);
		net_sets_say(b, member_sets[i].bridge ? bridge : inet,
			     &member_sets[i].set, &e);
	}
	put_outward(b, inet, plan, &e);
	put_forwards(b, inet, plan, net_map_public, &e);
	put_forwards(b, inet, plan, net_map_own, &e);
	put_forwarded(b, inet, plan, &e);
	free(e.keys);
	free(e.values);
}

/* Offsets of fields in a packet. Each offset counts from a header. The nearest comment, beside
 * the offset or above, names this header. */
enum {
	FRAME_SOURCE = 6, /* from the header of the Ethernet frame */
	FRAME_TYPE = 12,
	ARP_KIND = 0, /* from the header of the network layer: ARP or IPv4 */
	ARP_MAC = 8,
	ARP_IP = 14,
	IP_SOURCE = 12,
	IP_DESTINATION = 16,
	SOURCE_PORT = 0, /* from the header of the transport layer: TCP or UDP */
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

/* --- the parts of a rule --------------------------------------------------------- */

/*
 * A rule is a list of expressions of nftables. The expressions use registers of four bytes,
 * R(0) to R(15); a longer value also fills the next registers. The kernel leaves a rule at the
 * first comparison or lookup that fails.
 */
#define R(n) (NFT_REG32_00 + (n))

/* An expression, or the head of a rule. A head names a chain and has no expression. */
struct net_step {
	const char *chain;
	bool bridge; /* the chain is in the table of family bridge; else inet */
	const char *name; /* name of the expression */
	uint32_t numbers[11]; /* pairs of an attribute and its number; 0 ends the list */
	uint32_t text; /* attribute whose value is `string`, such as a set's name */
	const char *string;
	uint32_t data; /* attribute whose value consists of `bytes`, or is chosen by
			  `value` */
	uint8_t bytes[16], size;
	enum { AS_IT_IS, THE_BRIDGE, LOOPBACK_NAME, RANGE_MASK, RANGE_BASE } value;
};

#define INET(to, ...) { .chain = (to) }, __VA_ARGS__
#define BRIDGE(to, ...) { .chain = (to), .bridge = true }, __VA_ARGS__
#define STEP(word, ...)                                    \
	{                                                  \
		.name = (word), .numbers = { __VA_ARGS__ } \
	}
#define STEP_OF(word, attribute, of, ...)                                        \
	{                                                                        \
		.name = (word), .numbers = { __VA_ARGS__ }, .text = (attribute), \
		.string = (of)                                                   \
	}

/* Expressions that load a value into a register. */
#define META(key, reg) STEP("meta", NFTNL_EXPR_META_KEY, key, NFTNL_EXPR_META_DREG, reg)
#define CT(key, reg) STEP("ct", NFTNL_EXPR_CT_KEY, key, NFTNL_EXPR_CT_DREG, reg)
#define ORIGINAL(key, reg)                                                      \
	{                                                                       \
		.name = "ct",                                                   \
		.numbers = { NFTNL_EXPR_CT_KEY, key, NFTNL_EXPR_CT_DREG, reg }, \
		.data = NFTNL_EXPR_CT_DIR, .size = 1                            \
	}
#define LOAD(base, offset, size, reg)                                             \
	STEP("payload", NFTNL_EXPR_PAYLOAD_BASE, base, NFTNL_EXPR_PAYLOAD_OFFSET, \
	     offset, NFTNL_EXPR_PAYLOAD_LEN, size, NFTNL_EXPR_PAYLOAD_DREG, reg)
#define LOAD_FRAME(offset, size, reg) LOAD(NFT_PAYLOAD_LL_HEADER, offset, size, reg)
#define LOAD_NETWORK(offset, size, reg) \
	LOAD(NFT_PAYLOAD_NETWORK_HEADER, offset, size, reg)
#define LOAD_PORT(offset, reg) LOAD(NFT_PAYLOAD_TRANSPORT_HEADER, offset, 2, reg)
#define LOAD_MAPPED(map, reg)                                                      \
	STEP_OF("lookup", NFTNL_EXPR_LOOKUP_SET, map, NFTNL_EXPR_LOOKUP_SREG, reg, \
		NFTNL_EXPR_LOOKUP_DREG, reg)

/* Expressions that are conditions of a rule. */
#define COMPARE(op, reg, ...)                                             \
	{                                                                 \
		.name = "cmp",                                            \
		.numbers = { NFTNL_EXPR_CMP_SREG, reg, NFTNL_EXPR_CMP_OP, \
			     NFT_CMP_##op },                              \
		.data = NFTNL_EXPR_CMP_DATA, __VA_ARGS__                  \
	}
#define IS(reg, ...)                               \
	COMPARE(EQ, reg, .bytes = { __VA_ARGS__ }, \
		.size = sizeof((uint8_t[]){ __VA_ARGS__ }))
#define IS_NOT(reg, ...)                            \
	COMPARE(NEQ, reg, .bytes = { __VA_ARGS__ }, \
		.size = sizeof((uint8_t[]){ __VA_ARGS__ }))
#define MASKED(mask)                                                                 \
	STEP("bitwise", NFTNL_EXPR_BITWISE_SREG, NFT_REG_1, NFTNL_EXPR_BITWISE_DREG, \
	     NFT_REG_1, NFTNL_EXPR_BITWISE_LEN, 4, NFTNL_EXPR_BITWISE_MASK, mask,    \
	     NFTNL_EXPR_BITWISE_XOR, 0)
#define IN(reg, set) \
	STEP_OF("lookup", NFTNL_EXPR_LOOKUP_SET, set, NFTNL_EXPR_LOOKUP_SREG, reg)

#define NAMED(key, op, of) \
	META(key, NFT_REG_1), COMPARE(op, NFT_REG_1, .size = 16, .value = (of))
#define FROM_BRIDGE NAMED(NFT_META_IIFNAME, EQ, THE_BRIDGE)
#define NOT_FROM_BRIDGE NAMED(NFT_META_IIFNAME, NEQ, THE_BRIDGE)
#define TO_BRIDGE NAMED(NFT_META_OIFNAME, EQ, THE_BRIDGE)
#define NOT_TO_BRIDGE NAMED(NFT_META_OIFNAME, NEQ, THE_BRIDGE)
#define IS_IPV4 META(NFT_META_NFPROTO, NFT_REG_1), IS(NFT_REG_1, NFPROTO_IPV4)
#define ICMP META(NFT_META_L4PROTO, NFT_REG_1), IS(NFT_REG_1, NET_ICMP)
#define DIRECTION(of) CT(NFT_CT_DIRECTION, NFT_REG_1), IS(NFT_REG_1, of)
#define FRAME(type) \
	LOAD_FRAME(FRAME_TYPE, 2, NFT_REG_1), IS(NFT_REG_1, (type) >> 8, (type)&255)
#define FROM_OUTWARD \
	IS_IPV4, LOAD_NETWORK(IP_SOURCE, 4, NFT_REG_1), IN(NFT_REG_1, "outward")
/* In nft's words: iifname . HARDWARE ADDRESS . IPV4 ADDRESS @source. `mac` loads the hardware
 * address. */
#define PINNED(mac, ip) \
	META(NFT_META_IIFNAME, R(0)), mac, LOAD_NETWORK(ip, 4, R(6)), IN(R(0), "source")
/* In nft's words: ADDRESS . PROTOCOL . PORT @set, with the values from the packet's headers. */
#define PLACE(address, port, set)                                              \
	IS_IPV4, LOAD_NETWORK(address, 4, R(0)), META(NFT_META_L4PROTO, R(1)), \
		LOAD_PORT(port, R(2)), IN(R(0), set)
#define NOT_IN_RANGE                                                                   \
	ORIGINAL(NFT_CT_DST_IP, NFT_REG_1),                                            \
		{ .name = "bitwise",                                                   \
		  .numbers = { NFTNL_EXPR_BITWISE_SREG, NFT_REG_1,                     \
			       NFTNL_EXPR_BITWISE_DREG, NFT_REG_1,                     \
			       NFTNL_EXPR_BITWISE_LEN, 4, NFTNL_EXPR_BITWISE_XOR, 0 }, \
		  .data = NFTNL_EXPR_BITWISE_MASK,                                     \
		  .size = 4,                                                           \
		  .value = RANGE_MASK },                                               \
		COMPARE(NEQ, NFT_REG_1, .size = 4, .value = RANGE_BASE)
#define FORWARDED \
	CT(NFT_CT_STATUS, NFT_REG_1), MASKED(IPS_DST_NAT), IS_NOT(NFT_REG_1, 0, 0, 0, 0)

/* Expressions that act on the packet. */
#define SET_MARK(reg) \
	STEP("meta", NFTNL_EXPR_META_KEY, NFT_META_MARK, NFTNL_EXPR_META_SREG, reg)
#define NO_MARK                                     \
	{ .name = "immediate",                      \
	  .numbers = { NFTNL_EXPR_IMM_DREG, R(0) }, \
	  .data = NFTNL_EXPR_IMM_DATA,              \
	  .size = 4 },                              \
		SET_MARK(R(0))
#define JUDGE(verdict)                                                                  \
	STEP("immediate", NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT, NFTNL_EXPR_IMM_VERDICT, \
	     verdict)
#define ACCEPT JUDGE(NF_ACCEPT)
#define DROP JUDGE(NF_DROP)
#define JUMP(to)                                                            \
	STEP_OF("immediate", NFTNL_EXPR_IMM_CHAIN, to, NFTNL_EXPR_IMM_DREG, \
		NFT_REG_VERDICT, NFTNL_EXPR_IMM_VERDICT, (uint32_t)NFT_JUMP)

/* Lets a packet go on to the chain `open` if the opener of its connection is in a group that
 * may reach the connection's target. The map `groups` gives the group's number. The packet's
 * mark holds this number while the rule looks it up in the set `reach`.
 *
 * An ICMP error belongs to the connection that the error reports, but any member may have sent
 * the error. Therefore no ICMP error passes between members. */
#define REACH(groups)                                                                    \
	INET("forward", ORIGINAL(NFT_CT_SRC_IP, R(0)), LOAD_MAPPED(groups, R(0)),        \
	     SET_MARK(R(0)), META(NFT_META_MARK, R(0)), ORIGINAL(NFT_CT_DST_IP, R(1)),   \
	     IN(R(0), "reach"), CT(NFT_CT_STATE, NFT_REG_1),                             \
	     MASKED(NF_CT_STATE_BIT(IP_CT_RELATED)), IS(NFT_REG_1, 0, 0, 0, 0), NO_MARK, \
	     JUMP("open"))

/* Redirects packets that arrive at a port of this machine. The map gives the new address and
 * port. */
#define LEAD_IN(map)                                                                  \
	IS_IPV4,                                                                      \
		STEP("fib", NFTNL_EXPR_FIB_FLAGS, NFTA_FIB_F_DADDR,                   \
		     NFTNL_EXPR_FIB_RESULT, NFT_FIB_RESULT_ADDRTYPE,                  \
		     NFTNL_EXPR_FIB_DREG, NFT_REG_1),                                 \
		IS(NFT_REG_1, RTN_LOCAL, 0, 0, 0), META(NFT_META_L4PROTO, R(0)),      \
		LOAD_PORT(DESTINATION_PORT, R(1)), LOAD_MAPPED(map, R(0)),            \
		STEP("nat", NFTNL_EXPR_NAT_TYPE, NFT_NAT_DNAT, NFTNL_EXPR_NAT_FAMILY, \
		     NFPROTO_IPV4, NFTNL_EXPR_NAT_REG_ADDR_MIN, R(0),                 \
		     NFTNL_EXPR_NAT_REG_PROTO_MIN, R(1))

/* --- the rules ------------------------------------------------------------------- */

static const struct net_step rule_steps[] = {
	/* Accepts all packets from interfaces that are not taps of this network. */
	BRIDGE("prerouting", META(NFT_META_IIFNAME, NFT_REG_1),
	       STEP_OF("lookup", NFTNL_EXPR_LOOKUP_SET, "tap", NFTNL_EXPR_LOOKUP_SREG,
		       NFT_REG_1, NFTNL_EXPR_LOOKUP_FLAGS, NFT_LOOKUP_F_INV),
	       ACCEPT),
	BRIDGE("prerouting", FRAME(ETH_P_IP),
	       PINNED(LOAD_FRAME(FRAME_SOURCE, 6, R(4)), IP_SOURCE), ACCEPT),
	/* Accepts ARP only for Ethernet and IPv4. */
	BRIDGE("prerouting", FRAME(ETH_P_ARP), LOAD_NETWORK(ARP_KIND, 6, NFT_REG_1),
	       IS(NFT_REG_1, 0, 1, 8, 0, 6, 4),
	       PINNED(LOAD_FRAME(FRAME_SOURCE, 6, R(4)), ARP_IP),
	       PINNED(LOAD_NETWORK(ARP_MAC, 6, R(4)), ARP_IP), ACCEPT),

	INET("forward", NOT_FROM_BRIDGE, NOT_TO_BRIDGE, ACCEPT),
	REACH("group"),
	REACH("above"),
	/* Accepts connections that members open to the outside. This rule does not accept
	 * connections to members or to link-local addresses. At the link-local address
	 * 169.254.169.254 a cloud serves keys. */
	INET("forward", FROM_BRIDGE, NOT_TO_BRIDGE, FROM_OUTWARD, NOT_IN_RANGE,
	     ORIGINAL(NFT_CT_DST_IP, NFT_REG_1), MASKED(0xffff),
	     IS_NOT(NFT_REG_1, 169, 254, 0, 0), DIRECTION(0), ACCEPT),
	INET("forward", NOT_FROM_BRIDGE, TO_BRIDGE, ORIGINAL(NFT_CT_SRC_IP, NFT_REG_1),
	     IN(NFT_REG_1, "outward"), DIRECTION(1), ACCEPT),
	/* Accepts connections from other machines to forwarded ports. */
	INET("forward", NOT_FROM_BRIDGE, TO_BRIDGE, FORWARDED, ICMP, ACCEPT),
	INET("forward", NOT_FROM_BRIDGE, TO_BRIDGE, FORWARDED, DIRECTION(0),
	     PLACE(IP_DESTINATION, DESTINATION_PORT, "forwarded"), ACCEPT),
	INET("forward", FROM_BRIDGE, NOT_TO_BRIDGE, FORWARDED, DIRECTION(1),
	     PLACE(IP_SOURCE, SOURCE_PORT, "forwarded"), ACCEPT),

	/* Accepts the traffic that may pass between members: ping, answers, and packets to open
	 * ports. */
	INET("open", ICMP, ACCEPT),
	INET("open", DIRECTION(1), ACCEPT),
	INET("open", IS_IPV4, LOAD_NETWORK(IP_DESTINATION, 4, NFT_REG_1),
	     IN(NFT_REG_1, "unlimited"), ACCEPT),
	INET("open", PLACE(IP_DESTINATION, DESTINATION_PORT, "port"), ACCEPT),

	/* Drops packets from VMs to this machine itself, except answers and ICMP packets. */
	INET("input", FROM_BRIDGE, DIRECTION(1), ACCEPT),
	INET("input", FROM_BRIDGE, META(NFT_META_L4PROTO, NFT_REG_1),
	     IS_NOT(NFT_REG_1, NET_ICMP), DROP),

	INET("prerouting", NOT_FROM_BRIDGE, LEAD_IN(net_map_public)),
	INET("output", LEAD_IN(net_map_own)),
	/* Masquerades the addresses of members in packets to the outside, where these addresses
	 * are not valid. Also masquerades 127.0.0.1 in packets to members, since members cannot
	 * answer to 127.0.0.1. */
	INET("postrouting", NAMED(NFT_META_OIFNAME, NEQ, LOOPBACK_NAME), FROM_OUTWARD,
	     NOT_IN_RANGE, STEP("masq", 0)),
};

/* A transaction that is being built, and the values that its rules share. */
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

/* The bytes of the attribute s->data of a step. */
static const void *step_bytes(const struct rules *r, const struct net_step *s,
			      uint32_t *number)
{
	switch (s->value) {
	case AS_IT_IS:
		break;
	case THE_BRIDGE:
		return r->interface;
	case LOOPBACK_NAME:
		return "lo\0\0\0\0\0\0\0\0\0\0\0\0\0";
	case RANGE_MASK:
		*number = htonl(UINT32_MAX << (32 - r->plan->prefix));
		return number;
	case RANGE_BASE:
		*number = htonl(r->plan->base);
		return number;
	}
	return s->bytes;
}

static void rule_add_step(struct rules *r, struct nftnl_rule *rule,
			  const struct net_step *s)
{
	const struct net_lib *lib = r->batch.lib;
	struct nftnl_expr *e = lib->nftnl_expr_alloc(s->name);
	uint32_t number;

	for (const uint32_t *n = s->numbers; *n; n += 2)
		lib->nftnl_expr_set_u32(e, (uint16_t)n[0], n[1]);
	if (s->string)
		lib->nftnl_expr_set_str(e, (uint16_t)s->text, s->string);
	if (s->size)
		lib->nftnl_expr_set(e, (uint16_t)s->data, step_bytes(r, s, &number),
				    s->size);
	lib->nftnl_rule_add_expr(rule, e);
}

static void rules_put(struct rules *r)
{
	const struct net_step *s = rule_steps, *end = s + sizeof(rule_steps) / sizeof(*s);

	while (s < end) {
		const struct net_step *head = s++;
		struct nftnl_rule *rule = r->batch.lib->nftnl_rule_alloc();

		for (; s < end && !s->chain; s++)
			rule_add_step(r, rule, s);
		net_batch_rule(&r->batch, head->bridge ? &r->bridge : &r->inet,
			       head->chain, rule);
	}
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
	rules_put(&r);
	return net_batch_commit(&r.batch, f);
}

int net_rules_apply(const struct net_lib *lib, const struct net_plan *plan,
		    struct fault *f)
{
	struct fault first = { 0 };

	if (net_rules_send(lib, plan, &first) == 0)
		return 0;
	/* The existing tables may be of another version of cadre, with other sets. So the
	 * tables are removed and made anew. */
	if (net_rules_remove(lib, plan->tag, &first) == 0)
		return net_rules_send(lib, plan, f);
	*f = first;
	return first.code;
}

/* Removes the tables of this network. While a table is being removed, its chains are empty but
 * still in force for an instant. So the policy of the chains is first set to `accept`;
 * otherwise packets of other programs would be dropped in this instant. */
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
