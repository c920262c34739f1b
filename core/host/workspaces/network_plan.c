#include "core/host/workspaces/network_plan.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/nic.h"
#include "ops.gen.h"

static void add_ports(struct network_plan *p, const struct workspace_network *n,
		      struct net_member *m)
{
	m->ports = p->ports + p->n_ports;
	m->n_ports = n->n_allowed_ports;
	for (size_t i = 0; i < n->n_allowed_ports; i++)
		p->ports[p->n_ports++] = (uint16_t)n->allowed_ports[i];
}

static void add_forwards(struct network_plan *p, const struct workspace_network *n,
			 uint32_t ip)
{
	for (size_t i = 0; i < n->n_forwards; i++) {
		const struct port_forward *f = &n->forwards[i];

		p->forwards[p->plan.n_forwards++] = (struct net_forward){
			.ip = ip,
			.protocol = f->transport == TRANSPORT_UDP ? IPPROTO_UDP
								  : IPPROTO_TCP,
			.port = (uint16_t)f->port,
			.to = (uint16_t)f->to,
			.open = f->public,
		};
	}
}

static void network_plan_add_member(struct network_plan *p, const struct nic_range *range,
				    const struct host_nic *row)
{
	const struct workspace_network *n = &row->network;
	struct net_member *m = &p->members[p->plan.n_members];
	struct nic nic;

	nic_of(range, p->plan.tag, row->id, row->slot, &nic);
	memcpy(m->tap, nic.tap, sizeof(m->tap));
	memcpy(m->mac, nic.mac, sizeof(m->mac));
	m->ip = nic.ip;
	m->team = (uint32_t)row->team_row;
	m->parent = (uint32_t)row->parent_row;
	m->internet = n->allow_internet;
	m->inter_vm = n->allow_inter_vm;
	m->all_ports = n->all_ports;
	add_ports(p, n, m);
	add_forwards(p, n, nic.ip);
	p->rows[p->plan.n_members++] = row->row;
}

struct network_plan *network_plan_new(const struct settings *settings,
				      const struct workspace_network_rows_out *rows,
				      struct fault *f)
{
	struct network_plan *p;
	size_t ports = 0, forwards = 0;
	struct nic_range range;

	if (nic_range_parse(settings->network_range, &range, f))
		return NULL;
	for (size_t i = 0; i < rows->n_members; i++) {
		ports += rows->members[i].network.n_allowed_ports;
		forwards += rows->members[i].network.n_forwards;
	}
	p = xcalloc(1, sizeof(*p));
	p->rows = xcalloc(rows->n_members, sizeof(*p->rows));
	p->members = xcalloc(rows->n_members, sizeof(*p->members));
	p->forwards = xcalloc(forwards, sizeof(*p->forwards));
	p->ports = xcalloc(ports, sizeof(*p->ports));
	snprintf(p->plan.tag, sizeof(p->plan.tag), "%s", settings->tag);
	p->plan.base = range.base;
	p->plan.prefix = range.prefix;
	p->plan.members = p->members;
	p->plan.forwards = p->forwards;
	for (size_t i = 0; i < rows->n_members; i++)
		network_plan_add_member(p, &range, &rows->members[i]);
	return p;
}

void network_plan_free(struct network_plan *p)
{
	if (!p)
		return;
	free(p->rows);
	free(p->members);
	free(p->forwards);
	free(p->ports);
	free(p);
}

static bool member_equal(const struct net_member *a, const struct net_member *b)
{
	return !strcmp(a->tap, b->tap) && !memcmp(a->mac, b->mac, sizeof(a->mac)) &&
	       a->ip == b->ip && a->team == b->team && a->parent == b->parent &&
	       a->internet == b->internet && a->inter_vm == b->inter_vm &&
	       a->all_ports == b->all_ports && a->n_ports == b->n_ports &&
	       !memcmp(a->ports, b->ports, a->n_ports * sizeof(*a->ports));
}

static bool forward_equal(const struct net_forward *a, const struct net_forward *b)
{
	return a->ip == b->ip && a->protocol == b->protocol && a->port == b->port &&
	       a->to == b->to && a->open == b->open;
}

bool network_plan_equal(const struct network_plan *a, const struct network_plan *b)
{
	if (a->plan.n_members != b->plan.n_members ||
	    a->plan.n_forwards != b->plan.n_forwards)
		return false;
	for (size_t i = 0; i < a->plan.n_members; i++)
		if (a->rows[i] != b->rows[i] ||
		    !member_equal(&a->members[i], &b->members[i]))
			return false;
	for (size_t i = 0; i < a->plan.n_forwards; i++)
		if (!forward_equal(&a->forwards[i], &b->forwards[i]))
			return false;
	return true;
}

bool network_plan_has(const struct network_plan *p, int64_t row)
{
	for (size_t i = 0; p && i < p->plan.n_members; i++)
		if (p->rows[i] == row)
			return true;
	return false;
}
