#include "core/host/workspaces/hosted_network.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/nic.h"
#include "core/call/call.h"
#include "core/host/host_inside.h"
#include "core/machine/net/net.h"
#include "ops.gen.h"

/* --- network_plan ------------------------------------------------------------ */

/*
 * network_plan - makes a plan of the network from the rows of VMs.
 */

/* A plan of the network, with the arrays to which the plan points. */
struct network_plan {
	struct net_plan plan;
	int64_t *rows; /* workspaces' rows, in the order of `members` */
	struct net_member *members;
	struct net_forward *forwards;
	uint16_t *ports;
	size_t n_ports;
};

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

/* Makes the plan of the network from `rows`; the caller frees the plan. */
static struct network_plan *
network_plan_new(const struct settings *settings,
		 const struct workspace_network_rows_out *rows)
{
	struct network_plan *p;
	size_t ports = 0, forwards = 0;
	struct nic_range range = { 0 };
	struct fault none = { 0 };

	/* home.c has checked the range. */
	nic_range_parse(settings->network_range, &range, &none);
	for (size_t i = 0; i < rows->n_members; i++) {
		ports += rows->members[i].network.n_allowed_ports;
		forwards += rows->members[i].network.n_forwards;
	}
	p = xcalloc(1, sizeof(*p));
	p->rows = xcalloc(rows->n_members, sizeof(*p->rows));
	p->members = xcalloc(rows->n_members, sizeof(*p->members));
	/* cppcheck-suppress invalidFunctionArg ; alloc.c's xcalloc() takes 0 */
	p->forwards = xcalloc(forwards, sizeof(*p->forwards));
	/* cppcheck-suppress invalidFunctionArg */
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

/* `p` may be NULL */
static void network_plan_free(struct network_plan *p)
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

static bool network_plan_equal(const struct network_plan *a, const struct network_plan *b)
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

static bool network_plan_has(const struct network_plan *p, int64_t row)
{
	for (size_t i = 0; p && i < p->plan.n_members; i++)
		if (p->rows[i] == row)
			return true;
	return false;
}

/* --- faults in the rows ----------------------------------------------------------- */

/* Writes the fault `why` into the rows of VMs if the fault has changed. The first call always
 * writes, since the rows may contain the fault of an earlier host. */
static void note_fault(struct host *host, const char *why)
{
	struct hosted_network *n = host->hosted_network;

	if (host->stopping || (n->noted && strcmp(n->told, why) == 0))
		return;
	n->noted = true;
	snprintf(n->told, sizeof(n->told), "%s", why);
	if (*why)
		log_line(host->log, LOG_LEVEL_WARN, "there is no network for VMs",
			 LOG_TEXT("error", why));
	host_ask(host, workspace_network_note, job_free, host,
		 .fault = *why ? why : NULL);
}

static void hosted_network_note(struct host *host)
{
	const struct fault *f = &host->hosted_network->fault;
	char why[sizeof(host->hosted_network->told)] = "", hint[HINT_SIZE];

	if (f->code)
		snprintf(why, sizeof(why), "%s. %s", f->text, hint_plain(f->hint, hint));
	note_fault(host, why);
}

/* --- applying a plan --------------------------------------------------------------- */

/* Applies the wanted plan, on a thread of the pool. */
static void hosted_network_apply(uv_work_t *work)
{
	struct host *host = work->data;
	struct hosted_network *n = host->hosted_network;

	n->fault = (struct fault){ 0 };
	if (n->wanted->plan.n_members)
		n->how->apply(n->how->self, &n->wanted->plan, &n->fault);
	else
		n->how->remove(n->how->self, n->wanted->plan.tag, &n->fault);
}

static void on_applied(uv_work_t *work, int status)
{
	struct host *host = work->data;
	struct hosted_network *n = host->hosted_network;

	(void)status;
	n->busy = false;
	hosted_network_note(host);
	if (n->fault.code) {
		network_plan_free(n->wanted);
	} else {
		network_plan_free(n->applied);
		n->applied = n->wanted;
	}
	n->wanted = NULL;
	if (n->again)
		network_poke(host);
}

/* Whether the machine's network already matches the plan. */
static bool is_so(const struct hosted_network *n, const struct network_plan *plan)
{
	if (!plan->plan.n_members)
		return !n->how->present(n->how->self, plan->plan.tag);
	return n->applied && !n->fault.code && network_plan_equal(plan, n->applied) &&
	       n->how->intact(n->how->self);
}

static void want(struct host *host, struct network_plan *plan)
{
	struct hosted_network *n = host->hosted_network;

	if (is_so(n, plan)) {
		if (!plan->plan.n_members) {
			network_plan_free(n->applied);
			n->applied = NULL;
		}
		network_plan_free(plan);
		return;
	}
	n->wanted = plan;
	n->busy = true;
	n->work.data = host;
	uv_queue_work(&host->loop, &n->work, hosted_network_apply, on_applied);
}

/* --- reading the rows -------------------------------------------------------------- */

static void hosted_network_on_rows(struct job *job)
{
	struct host *host = job->owner;
	struct hosted_network *n = host->hosted_network;
	struct network_plan *plan = NULL;

	n->reading = false;
	if (!host->stopping && !job->call.fault.code)
		plan = network_plan_new(&host->home->settings, job->call.out);
	job_free(job);
	if (plan)
		want(host, plan);
	if (n->again)
		network_poke(host);
}

void network_poke(struct host *host)
{
	struct hosted_network *n = host->hosted_network;

	if (host->stopping)
		return;
	n->again = n->reading || n->busy;
	if (n->again)
		return;
	n->reading = true;
	host_submit(host, host_job(host, op_workspace_network_rows,
				   hosted_network_on_rows, host));
}

enum tap network_tap(struct host *host, int64_t row)
{
	const struct hosted_network *n = host->hosted_network;

	if (network_plan_has(n->applied, row))
		return TAP_READY;
	return !n->busy && n->fault.code ? TAP_NONE : TAP_LATER;
}

/* --- start and end ------------------------------------------------------------------ */

/* Chooses the network's table of functions. The host's options may name a table; the default is
 * the table for Linux. Does not change the machine's network. */
static void network_make(struct host *host)
{
	struct hosted_network *n = host->hosted_network;

	net_linux_init(&n->backend);
	n->how = host->options->network ? host->options->network : &n->backend.network;
}

/* Whether a VM still uses the network. A VM's process may still run after the host has ended. */
static bool is_lived_in(struct host *host)
{
	for (struct hosted_workspace *p = host->reconcile->places; p; p = p->next)
		if (p->process.pid &&
		    network_plan_has(host->hosted_network->applied, p->row))
			return true;
	return false;
}

/* Removes the whole network, unless a VM that uses the network still runs. */
static void network_release(struct host *host)
{
	struct hosted_network *n = host->hosted_network;
	struct fault f = { 0 };

	if (n->applied && n->applied->plan.n_members && !is_lived_in(host) &&
	    n->how->remove(n->how->self, n->applied->plan.tag, &f))
		log_line(host->log, LOG_LEVEL_WARN,
			 "the network of VMs cannot be removed", LOG_FAULT(&f));
	network_plan_free(n->applied);
	network_plan_free(n->wanted);
	net_linux_release(&n->backend);
}

const struct host_room room_hosted_network = {
	.size = sizeof(struct hosted_network),
	.make = network_make,
	.release = network_release,
};
