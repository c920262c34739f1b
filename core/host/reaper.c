#include "core/host/reaper.h"

#include <stdio.h>

#include "core/host/daemon.h"
#include "core/host/running.h"
#include "ops.gen.h"

enum {
	LOOK_MS = 1000,
	GAP_MS = 10000, /* shorter ones no lease is hurt by */
	ALIVE_MS = 5000, /* how exactly a gap is known afterwards */
};

/* On a reader: the row stands at call->out, or nothing does. */
static void look(struct job *job, struct store *store)
{
	struct call *call = &job->call;
	struct host_due_row *due = arena_alloc(&call->arena, sizeof(*due));

	call->store = store;
	call->out = NULL;
	if (store_begin(store, false, &call->fault))
		return;
	if (sql_row(call, host_due, due, .now = call->now) > 0)
		call->out = due;
	store_rollback(store);
}

static void look_now(struct host *host);

static void on_ticked(struct job *job)
{
	struct host *host = job->owner;
	const struct clock_tick_out *out = job->call.out;
	struct reaper *r = &host->reaper;

	r->busy = false;
	if (job->call.fault.code) {
		log_line(host->log, LOG_LEVEL_WARN, "clock.tick: %s",
			 job->call.fault.text);
		r->holding = false;
	} else {
		r->gap_ms = 0;
		if (r->holding && job->first < r->held_at && !host->stopping)
			look_now(host); /* this one began before time leapt */
		else
			r->holding = false;
		if (out->more && !host->stopping)
			reaper_start(host);
	}
	job_free(job);
}

static void tick(struct host *host)
{
	struct job *job = host_job(host, op_clock_tick, on_ticked, host);
	struct clock_tick_in *in = job->call.in;
	struct reaper *r = &host->reaper;

	in->gap_ms = r->gap_ms;
	in->gap_since = r->gap_since;
	in->has_gap_since = r->gap_ms > 0;
	if (r->gap_ms)
		log_line(host->log, LOG_LEVEL_NOTE,
			 "nobody could call for %lld s: leases are moved",
			 (long long)r->gap_ms / 1000);
	r->busy = true;
	host_prepare(host, job);
	host_ahead(host, job);
}

/* Since when nobody could call: since the last look of this host, or since a
 * host said last that it lives. */
static void notice_gap(struct reaper *r, int64_t now, int64_t alive_at)
{
	int64_t since = r->looked_at ? r->looked_at : alive_at;

	if (since > 0 && now - since > GAP_MS) {
		r->gap_ms += now - since;
		r->gap_since = since;
	}
	r->looked_at = now;
}

static void on_looked(struct job *job);

static void look_now(struct host *host)
{
	struct job *job = job_new(&host->jobs);

	job->call.now = home_now();
	job->read = look;
	job->done = on_looked;
	job->owner = host;
	host->reaper.busy = true;
	host_ahead(host, job);
}

/* A look that could not be taken holds nobody up. */
static void on_looked(struct job *job)
{
	struct host *host = job->owner;
	struct reaper *r = &host->reaper;
	const struct host_due_row *due = job->call.out;
	int64_t now = job->call.now;

	r->busy = false;
	if (due && !host->stopping) {
		snprintf(host->incarnation, sizeof(host->incarnation), "%s",
			 due->incarnation);
		notice_gap(r, now, due->alive_at);
		if (due->due ||
		    (due->live && (r->gap_ms || now - due->alive_at > ALIVE_MS)))
			tick(host);
		else if (!due->live)
			r->gap_ms = 0;
	}
	job_free(job);
	if (r->busy || !r->holding)
		return;
	if (due && !host->stopping && now < r->held_at)
		look_now(host); /* so did this one */
	else
		r->holding = false;
}

static void on_timer(uv_timer_t *timer)
{
	struct host *host = timer->data;

	if (!host->reaper.busy)
		look_now(host);
}

bool reaper_holds(struct host *host)
{
	struct reaper *r = &host->reaper;
	int64_t now = home_now();

	if (host->stopping)
		return false;
	if (!r->holding && r->looked_at && now - r->looked_at > GAP_MS) {
		r->holding = true;
		r->held_at = now;
		daemons_leap(host, now - r->looked_at);
		if (!r->busy)
			look_now(host);
	}
	return r->holding;
}

void reaper_init(struct host *host)
{
	/* What happened before the start is a gap as well. */
	host->reaper = (struct reaper){ .holding = true };
	uv_timer_init(&host->loop, &host->reaper.timer);
	host->reaper.timer.data = host;
}

void reaper_start(struct host *host)
{
	uv_timer_start(&host->reaper.timer, on_timer, 0, LOOK_MS);
}

void reaper_close(struct host *host)
{
	uv_close((uv_handle_t *)&host->reaper.timer, NULL);
}
