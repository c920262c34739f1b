#include "core/machine/net/net_sets.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

const char net_map_public[] = "public", net_map_own[] = "own";

/* nft's numbers for types of keys, as its include/datatype.h has them; those
 * of several in one key are shifted together, six bits each. */
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

/* Elements that wait to be said.  Each part of a key fills whole words. */
struct elements {
	uint8_t *keys, *values;
	size_t n, room;
	size_t at; /* in the newest key */
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
	part(e, &(uint32_t){ net_be32(ip) }, 4);
}

static void part_service(struct elements *e, uint8_t protocol, uint16_t port)
{
	part(e, &protocol, 1);
	part(e, &(uint16_t){ __builtin_bswap16(port) }, 2);
}

static void net_sets_say(struct net_batch *b, const struct net_table *t,
			 const struct net_set *set, struct elements *e)
{
	net_batch_set(b, t, set);
	net_batch_fill(b, t, set, e->keys, e->values, e->n);
	e->n = 0;
}

/* --- of members ---------------------------------------------------------------------- */

/* The members of a team as its sub-teams' leads reach them: not the other leads
 * that the team itself reaches. */
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
	bool bridge; /* in the table of that family; else of inet */
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

/* --- of forwarded ports ------------------------------------------------------------------ */

static void add_forward(struct elements *e, const struct net_forward *f)
{
	uint32_t ip = net_be32(f->ip);
	uint16_t port = __builtin_bswap16(f->to);
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

/* Whether an earlier forward leads to the same place: a set has it once. */
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

/* Fills the set of addresses that are masqueraded outside their own network: members
 * that may go there, and this machine's programs where they use 127.0.0.1. */
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

void net_sets_put(struct net_batch *b, const struct net_table *inet,
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
