#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/host/running.h"
#include "ops.gen.h"

enum {
	PAUSE_FIRST_MS = 100,
	PAUSE_MOST_MS = 30000,
	SETTLED_MS = 60000, /* who lived so long did not die of its start */
	DEATHS_MOST = 8,
	PATIENCE_MS = 5000, /* from asking a guest to end to ending it */
};

/* --- notes ---------------------------------------------------------------------- */

static void on_noted(struct job *job)
{
	struct host *host = job->owner;

	if (job->call.fault.code)
		log_line(host->log, LOG_LEVEL_WARN, "workspace.note: %s",
			 job->call.fault.text);
	job_free(job);
}

static struct job *note(struct place *p)
{
	struct job *job = host_job(p->host, op_workspace_note, on_noted, p->host);
	struct workspace_note_in *in = job->call.in;

	in->workspace = p->row;
	return job;
}

static void note_process(struct place *p, bool restarted)
{
	struct job *job = note(p);
	struct workspace_note_in *in = job->call.in;

	in->has_pid = in->has_pid_start = true;
	in->pid = p->process.pid;
	in->pid_start = p->process.start;
	if (p->process.pid)
		in->machine_boot = arena_strdup(&job->call.arena, p->process.boot);
	in->restarted = restarted;
	p->noted = p->process.pid != 0;
	host_submit(p->host, job);
}

/* Only what was being made becomes ready: a stop that came in between stays. */
static void note_ready(struct place *p)
{
	struct job *job = note(p);
	struct workspace_note_in *in = job->call.in;

	in->has_state = true;
	in->state = p->state = WORKSPACE_STATE_READY;
	host_submit(p->host, job);
}

static void note_failed(struct place *p, const char *why)
{
	struct job *job = note(p);
	struct workspace_note_in *in = job->call.in;

	in->has_state = true;
	in->state = WORKSPACE_STATE_FAILED;
	in->detail = arena_strdup(&job->call.arena, why);
	p->state = WORKSPACE_STATE_FAILED;
	log_line(p->host->log, LOG_LEVEL_ERROR, "workspace %s failed: %s", p->spot.name,
		 why);
	host_submit(p->host, job);
}

/* --- slow work ------------------------------------------------------------------- */

static void work_on(uv_work_t *work)
{
	struct place *p = work->data;
	const struct machine *b = p->machine;

	if (p->destroying)
		b->destroy(b->self, &p->spot, &p->fault);
	else if (p->spot.source)
		b->fork(b->self, &p->spot, &p->fault);
	else
		b->make(b->self, &p->spot, &p->fault);
}

static void on_worked(uv_work_t *work, int status)
{
	struct place *p = work->data;

	(void)status;
	p->busy = false;
	p->host->reconcile.busy--;
	if (p->destroying) {
		if (p->fault.code)
			log_line(p->host->log, LOG_LEVEL_WARN, "workspace %s stays: %s",
				 p->spot.name, p->fault.text);
		if (p->noted) {
			p->process.pid = 0;
			note_process(p, false);
		}
		p->destroying = false;
		p->made = false;
		p->state = -1; /* nothing is left to do */
	} else if (p->fault.code)
		note_failed(p, p->fault.text);
	else
		p->made = true;
	reconcile_poke(p->host);
}

static bool give_to_pool(struct place *p, bool destroy)
{
	const struct config *config = &p->host->home->settings.config;

	if (p->host->reconcile.busy >= config->limits_max_concurrent_forks)
		return false;
	p->busy = true;
	p->destroying = destroy;
	p->fault = (struct fault){ 0 };
	p->work.data = p;
	p->host->reconcile.busy++;
	uv_queue_work(&p->host->loop, &p->work, work_on, on_worked);
	return true;
}

/* --- steps ------------------------------------------------------------------------ */

static void start_guest(struct place *p, int64_t now)
{
	const struct machine *b = p->machine;
	struct fault f = { 0 };
	bool again = p->started_at != 0;

	if (b->start(b->self, &p->spot, &p->process, &f)) {
		note_failed(p, f.text);
		return;
	}
	p->started_at = now;
	log_line(p->host->log, LOG_LEVEL_NOTE,
		 "workspace %s: guest %s as process %" PRId64, p->spot.name,
		 again ? "restarted" : "started", p->process.pid);
	note_process(p, again);
}

/* A guest that is gone is started again, later and later. */
static void bury(struct place *p, int64_t now)
{
	bool early = now - p->started_at < SETTLED_MS;

	p->deaths = early ? p->deaths + 1 : 1;
	p->pause_ms = early && p->pause_ms ? p->pause_ms * 2 : PAUSE_FIRST_MS;
	if (p->pause_ms > PAUSE_MOST_MS)
		p->pause_ms = PAUSE_MOST_MS;
	p->start_at = now + p->pause_ms;
	if (!p->started_at)
		p->started_at = 1; /* of an earlier host: this is a restart */
	p->process = (struct process){ 0 };
	if (p->deaths >= DEATHS_MOST)
		note_failed(p, "its guest keeps dying");
}

static void hold(struct place *p)
{
	const struct tether_to to = {
		.workspace = p->row,
		.team = p->team_row,
		.agent = p->agent_row,
		.id = p->spot.id,
		.address = p->spot.address,
		.token = p->spot.link_token,
		.boot_told = p->boot_told,
	};

	struct fault f = { 0 };

	if (!p->tether && !(p->tether = tether_open(p->host, &to, &f)))
		note_failed(p, f.text);
}

static bool be_up(struct place *p, int64_t now)
{
	const struct machine *b = p->machine;

	if (!p->made) {
		give_to_pool(p, false);
		return true;
	}
	/* A guest that answers lives, even if its pid was never written down. */
	if (!b->start)
		;
	else if (!p->process.pid && !(p->tether && p->tether->up)) {
		if (now < p->start_at)
			return true;
		start_guest(p, now);
	} else if (p->process.pid && !b->alive(b->self, &p->process))
		bury(p, now);
	hold(p);
	if (!p->tether)
		return true;
	if (b->find && !p->process.pid && p->tether->up && p->tether->pid) {
		b->find(b->self, p->tether->pid, &p->process);
		note_process(p, false);
	}
	if (p->tether->up && p->state == WORKSPACE_STATE_CREATING)
		note_ready(p);
	return !p->tether->up;
}

/* True when no guest is left. */
static bool be_down(struct place *p, int64_t now)
{
	const struct machine *b = p->machine;
	struct fault f = { 0 };

	tether_close(p->tether);
	p->tether = NULL;
	p->deaths = 0;
	p->start_at = p->started_at = p->pause_ms = 0;
	if (p->process.pid && b->alive(b->self, &p->process)) {
		if (!p->stop_at) {
			p->stop_at = now + PATIENCE_MS;
			b->stop(b->self, &p->process, false, &f);
		} else if (now >= p->stop_at)
			b->stop(b->self, &p->process, true, &f);
		return false;
	}
	p->stop_at = 0;
	p->process = (struct process){ 0 };
	return true;
}

bool place_step(struct place *p, int64_t now)
{
	if (p->busy || p->state < 0)
		return false;
	switch ((enum workspace_state)p->state) {
	case WORKSPACE_STATE_CREATING:
	case WORKSPACE_STATE_READY:
		return be_up(p, now);
	case WORKSPACE_STATE_STOPPED:
	case WORKSPACE_STATE_FAILED:
		if (!be_down(p, now))
			return true;
		if (p->noted)
			note_process(p, false);
		return false;
	case WORKSPACE_STATE_DESTROYED:
		if (be_down(p, now))
			give_to_pool(p, true);
		return true;
	}
	return false;
}

void place_free(struct place *p)
{
	tether_close(p->tether);
	free(p->texts);
	free(p);
}
