#include "core/host/reaper.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/host/host_inside.h"
#include "ops.gen.h"

enum {
	LOOK_MS = 1000,
	GAP_MS = 2000, /* shorter gaps are ignored; in a gap of this length at least two
			  looks (one a second) are due */
	NOTE_MS = 1000, /* while calls write, the row that says that the host runs is
			   written once in this time */
	ALIVE_MS = 5000, /* while leases run, the row that says that the host runs is
			    written at least once in this time */
};

/* Sets call->out to a row that says which effects of time are due. NULL: the read failed. Runs
 * on a reader's thread. */
static void reaper_look(struct job *job, struct store *store)
{
	struct call *call = &job->call;
	struct host_due_row *due = arena_alloc(&call->arena, sizeof(*due));

	call->store = store;
	call->out = NULL;
	store_lost(store); /* checks the WAL, which a read does not do by itself */
	if (call_begin(call, false))
		return;
	if (sql_row(call, host_due, due, .now = call->now) > 0)
		call->out = due;
	store_rollback(store);
}

static void look_now(struct host *host);
static void look_again(struct host *host);
static void reaper_on_timer(uv_timer_t *timer);

static bool has_gap(const struct reaper *r)
{
	return r->gap_ms || r->leap_ms;
}

/* Adds `ms` to the gap that is not stored yet. `leap` is the part of `ms` by which the clock
 * was set. */
static void add_gap(struct reaper *r, int64_t since, int64_t ms, int64_t leap)
{
	if (!ms && !leap)
		return;
	if (!has_gap(r) || since < r->gap_since)
		r->gap_since = since;
	r->gap_ms += ms;
	r->leap_ms += leap;
}

static void on_ticked(struct job *job)
{
	struct host *host = job->owner;
	const struct clock_tick_in *in = job->call.in;
	const struct clock_tick_out *out = job->call.out;
	struct reaper *r = host->reaper;

	r->busy = false;
	if (job->call.fault.code) {
		log_line(host->log, LOG_LEVEL_WARN, "ended leases cannot be stored",
			 LOG_FAULT(&job->call.fault));
		add_gap(r, in->gap_since, in->gap_ms,
			in->leap_ms); /* the next clock.tick moves the leases */
		r->holding = false;
	} else {
		if (r->stale && !host->stopping)
			look_now(host);
		else
			r->holding = false;
		if (out->more && !host->stopping)
			uv_timer_start(&r->timer, reaper_on_timer, 0, LOOK_MS);
	}
	job_free(job);
	look_again(host);
}

static void reaper_tick(struct host *host, bool start)
{
	struct job *job = host_job(host, op_clock_tick, on_ticked, host);
	struct clock_tick_in *in = job->call.in;
	struct reaper *r = host->reaper;

	in->gap_ms = r->gap_ms;
	in->gap_since = r->gap_since;
	in->has_gap_since = has_gap(r);
	in->leap_ms = r->leap_ms;
	in->start = start;
	if (r->gap_ms)
		log_line(
			host->log, LOG_LEVEL_INFO,
			r->gap_ms > 0
				? "no calls were possible for a while: leases are extended"
				: "the clock was put back: leases are put back too",
			LOG_NUMBER("seconds", r->gap_ms / 1000));
	r->gap_ms = r->leap_ms = 0;
	r->busy = true;
	r->stale = false;
	host_prepare(host, job);
	r->noted_at = job->call.now;
	host_ahead(host, job);
}

static void on_looked(struct job *job);

static void look_now(struct host *host)
{
	struct job *job = job_new(&host->jobs);

	job->call.now = clock_wall_ms();
	job->read = reaper_look;
	job->done = on_looked;
	job->owner = host;
	host->reaper->busy = true;
	host->reaper->stale = false;
	host_ahead(host, job);
}

/* Ends the host, since its state was removed or replaced. A new state at the same path needs
 * another host. The host ends as soon as one connection has lost the state. A connection that
 * has lost the state refuses all calls, even if the state's files return. The guests continue
 * to run without the host. */
void reaper_lost(struct host *host, const struct fault *why)
{
	host->lost = *why;
	log_line(host->log, LOG_LEVEL_ERROR, "the host ends", LOG_FAULT(why));
	host_stop(host);
}

/* Looks again at once if a look was due while the reaper was busy. */
static void look_again(struct host *host)
{
	if (host->reaper->again && !host->reaper->busy && !host->stopping)
		uv_timer_start(&host->reaper->timer, reaper_on_timer, 0, LOOK_MS);
}

/* If a delayed message is due within a second, sets the next look to the message's time. */
static void plan_look(struct host *host, const struct host_due_row *due, int64_t now)
{
	int64_t left = due->comes_at > now ? due->comes_at - now : LOOK_MS;

	if (left < LOOK_MS)
		uv_timer_start(&host->reaper->timer, reaper_on_timer, (uint64_t)left,
			       LOOK_MS);
}

/* Writes the effects that a look has found. If the look failed, the callers' writes that have
 * waited for the look run without these effects. */
static void on_looked(struct job *job)
{
	struct host *host = job->owner;
	struct reaper *r = host->reaper;
	const struct host_due_row *due = job->call.out;
	int64_t now = job->call.now;
	bool start = due && !r->began;

	r->busy = false;
	if (due && !host->stopping) {
		snprintf(host->incarnation, sizeof(host->incarnation), "%s",
			 due->incarnation);
		if (start && due->alive_at && due->alive_at < now)
			add_gap(r, due->alive_at, now - due->alive_at, 0);
		r->began = true;
		if (due->due || r->leap_ms || (start && due->alive_at > now) ||
		    (due->live &&
		     (start || r->gap_ms || llabs(now - due->alive_at) > ALIVE_MS)))
			reaper_tick(host, start);
		else if (!due->live && !r->stale)
			r->gap_ms = 0;
		plan_look(host, due, now);
	}
	job_free(job);
	look_again(host);
	if (r->busy || !r->holding)
		return;
	if (due && r->stale && !host->stopping)
		look_now(host);
	else
		r->holding = false;
}

static void reaper_on_timer(uv_timer_t *timer)
{
	struct host *host = timer->data;

	host_tick(host);
	host->reaper->again = host->reaper->busy;
	if (!host->reaper->busy)
		look_now(host);
}

/* Looks at once after an event which says that a message is delayed, since this message may be
 * due soon. */
static void reaper_event(struct host *host, const struct host_event_row *e)
{
	if (e->kind != EVENT_MESSAGE_DELAYED || host->stopping)
		return;
	host->reaper->again = host->reaper->busy;
	if (!host->reaper->busy)
		look_now(host);
}

bool reaper_holds(struct host *host)
{
	struct reaper *r = host->reaper;
	int64_t now = clock_wall_ms(), passed = clock_boot_ms();
	int64_t slept = r->ran_at ? passed - r->ran_passed : 0;
	int64_t leapt = r->ran_at ? now - r->ran_at - slept : 0;
	int64_t before = r->ran_at;

	if (host->stopping)
		return false;
	r->ran_at = now;
	r->ran_passed = passed;
	if (slept <= GAP_MS)
		slept = 0;
	if (llabs(leapt) <= GAP_MS)
		leapt = 0;
	if (slept || leapt) {
		add_gap(r, before, slept + leapt, leapt);
		r->noted_at = 0; /* noted_at is a time before the gap, and not valid
				    now */
		r->holding = true;
		r->stale = r->busy;
		/* The deadlines of guests use clock_boot_ms(). */
		hosted_guests_leap(host, slept);
		if (!r->busy)
			look_now(host);
	}
	return r->holding;
}

void reaper_writes(struct host *host)
{
	struct reaper *r = host->reaper;
	struct job *job;

	if (host->stopping || r->ran_at - r->noted_at < NOTE_MS)
		return;
	job = host_job(host, op_clock_tick, job_free, host);
	host_prepare(host, job);
	r->noted_at = job->call.now;
	host_ahead(host, job);
}

static void reaper_make(struct host *host)
{
	/* The time before the host's start also counts as a gap. */
	host->reaper->holding = true;
	uv_timer_init(&host->loop, &host->reaper->timer);
	host->reaper->timer.data = host;
}

static void reaper_start(struct host *host)
{
	uv_timer_start(&host->reaper->timer, reaper_on_timer, 0, LOOK_MS);
}

static void reaper_close(struct host *host)
{
	uv_close((uv_handle_t *)&host->reaper->timer, NULL);
}

const struct host_room room_reaper = {
	.size = sizeof(struct reaper),
	.make = reaper_make,
	.start = reaper_start,
	.event = reaper_event,
	.close = reaper_close,
};
