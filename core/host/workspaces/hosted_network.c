#include "core/host/workspaces/hosted_network.h"

#include <stdio.h>
#include <string.h>

#include "core/host/host_inside.h"
#include "ops.gen.h"

/* --- telling the rows ------------------------------------------------------------- */

/* The rows are told what they do not know yet; at start they may know of a fault
 * that is over. */
static void note_fault(struct host *host, const char *why)
{
	struct hosted_network *n = host->hosted_network;
	struct workspace_network_note_in *in;
	struct job *job;

	if (host->stopping || (n->noted && strcmp(n->told, why) == 0))
		return;
	n->noted = true;
	snprintf(n->told, sizeof(n->told), "%s", why);
	if (*why)
		log_line(host->log, LOG_LEVEL_WARN, "there is no network for VMs",
			 LOG_TEXT("error", why));
	job = host_job(host, op_workspace_network_note, job_free, host);
	in = job->call.in;
	in->fault = *why ? arena_strdup(&job->call.arena, why) : NULL;
	host_submit(host, job);
}

static void hosted_network_note(struct host *host)
{
	const struct fault *f = &host->hosted_network->fault;
	char why[sizeof(host->hosted_network->told)] = "", hint[HINT_SIZE];

	if (f->code)
		snprintf(why, sizeof(why), "%s. %s", f->text, hint_plain(f->hint, hint));
	note_fault(host, why);
}

/* --- applying ---------------------------------------------------------------------- */

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

/* Whether the machine is as the plan says already. */
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

/* --- reading ----------------------------------------------------------------------- */

static void hosted_network_on_rows(struct job *job)
{
	struct host *host = job->owner;
	struct hosted_network *n = host->hosted_network;
	struct network_plan *plan = NULL;
	struct fault f = { 0 };

	n->reading = false;
	if (!host->stopping && !job->call.fault.code &&
	    !(plan = network_plan_new(&host->home->settings, job->call.out, &f)))
		n->fault = f;
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

/* Chooses the backend of the options, or this machine's own.  Changes nothing outside. */
static void network_make(struct host *host)
{
	struct hosted_network *n = host->hosted_network;

	net_linux_init(&n->backend);
	n->how = host->options->network ? host->options->network : &n->backend.network;
}

/* A guest's process outlives its host. */
static bool is_lived_in(struct host *host)
{
	for (struct hosted_workspace *p = host->reconcile->places; p; p = p->next)
		if (p->process.pid &&
		    network_plan_has(host->hosted_network->applied, p->row))
			return true;
	return false;
}

/* Ends the whole network, unless a VM lives on. */
static void network_release(struct host *host)
{
	struct hosted_network *n = host->hosted_network;
	struct fault f = { 0 };

	if (n->applied && n->applied->plan.n_members && !is_lived_in(host) &&
	    n->how->remove(n->how->self, n->applied->plan.tag, &f))
		log_line(host->log, LOG_LEVEL_WARN, "the network of VMs stays",
			 LOG_FAULT(&f));
	network_plan_free(n->applied);
	network_plan_free(n->wanted);
	net_linux_release(&n->backend);
}

const struct host_room room_hosted_network = {
	.size = sizeof(struct hosted_network),
	.make = network_make,
	.release = network_release,
};
