#include "core/host/guests/hosted_daemon.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/host/guests/hosted_answer.h"
#include "core/host/guests/collect.h"
#include "core/host/host_inside.h"
#include "ops.gen.h"

enum {
	SILENT_MS = 16000, /* three heartbeats and a bit */
	UNDER_WAY_MOST = 6, /* five commands may begin beside one that ends */
};

/* --- heartbeats ------------------------------------------------------------------ */

static void note_beat(struct hosted_guest *t, struct job *job);

/* The newest of those that came meanwhile is next. */
static void beat_done(struct hosted_guest *t)
{
	struct job *newer = t->daemon.newer;

	t->daemon.under_way--;
	t->daemon.newer = NULL;
	if (newer && !t->closing)
		note_beat(t, newer);
	else
		job_free(newer);
	hosted_guest_let_go(t);
}

static void hosted_daemon_on_written(struct job *job)
{
	struct hosted_guest *t = job->owner;

	if (job->call.fault.code)
		t->daemon.beat_hash = 0; /* the next heartbeat says it again */
	job_free(job);
	beat_done(t);
}

/* A heartbeat that is worth a row; `job` has its arguments. */
static void write_beat(struct hosted_guest *t, struct job *job)
{
	t->daemon.under_way++;
	hosted_guest_keep(t);
	host_submit(t->host, job);
}

/* Looks whether a lease of the agent has under half left; runs on a reader's thread. */
static void look_at_leases(struct job *job, struct store *store)
{
	struct call *call = &job->call;
	struct lease_ending_row row = { 0 };

	call->store = store;
	if (call_begin(call, false))
		return;
	if (sql_row(call, lease_ending, &row, .agent = job->number, .now = call->now) > 0)
		job->number = row.n;
	else
		job->number = 0;
	store_rollback(store);
}

static void on_leases(struct job *job)
{
	struct hosted_guest *t = job->owner;
	bool ending = !job->call.fault.code && job->number > 0;

	job->read = NULL;
	job->done = hosted_daemon_on_written;
	if (ending && !t->closing) {
		t->daemon.under_way--; /* the look at the leases; now it is written */
		write_beat(t, job);
		hosted_guest_let_go(t);
	} else {
		job_free(job);
		beat_done(t);
	}
}

static struct job *beat_job(struct hosted_guest *t, const struct wire_heartbeat *beat)
{
	struct job *job =
		host_job(t->host, op_guest_heartbeat, hosted_daemon_on_written, t);
	struct guest_heartbeat_in *in = job->call.in;
	struct arena *a = &job->call.arena;

	in->agent = t->agent;
	in->waiting = beat->waiting;
	in->workspace = t->workspace;
	in->spool = arena_strdup(a, t->spool);
	in->has_spool_seq = beat->has_spool_seq;
	in->spool_seq = beat->spool_seq;
	in->running = arena_alloc(a, (beat->n_running + 1) * sizeof(char *));
	in->n_running = beat->n_running;
	for (size_t i = 0; i < beat->n_running; i++)
		in->running[i] = arena_strdup(a, beat->running[i]);
	return job;
}

static uint64_t hash_of(const struct guest_heartbeat_in *beat)
{
	uint64_t h = HASH_EMPTY;

	for (size_t i = 0; i < beat->n_running; i++)
		h = hash_more(h, beat->running[i], strlen(beat->running[i]));
	return hash_more(h, &beat->spool_seq, sizeof(beat->spool_seq));
}

/* The agent's status follows its daemon only where that begins or ends to
 * work: in between it is the agent's own. */
static void take_status(struct hosted_guest *t, struct guest_heartbeat_in *in)
{
	struct daemon *d = &t->daemon;
	bool works = in->n_running > 0;

	if (d->known && !d->offline && works == d->works)
		return;
	in->has_status = true;
	in->status = works      ? AGENT_STATUS_WORKING
		     : d->known ? AGENT_STATUS_IDLE
				: AGENT_STATUS_READY;
}

static void note_beat(struct hosted_guest *t, struct job *job)
{
	struct daemon *d = &t->daemon;
	struct guest_heartbeat_in *in = job->call.in;
	uint64_t hash = hash_of(in);

	take_status(t, in);
	if (in->has_status || hash != d->beat_hash) {
		d->known = true;
		d->offline = false;
		d->works = in->n_running > 0;
		d->beat_hash = hash;
		write_beat(t, job);
		return;
	}
	if (in->n_running == 0) {
		job_free(job);
		return;
	}
	job->read = look_at_leases;
	job->number = t->agent;
	job->done = on_leases;
	job->call.now = clock_wall_ms();
	job->ready = arena_mark(&job->call.arena);
	d->under_way++;
	hosted_guest_keep(t);
	host_read(t->host, job);
}

static void hear_beat(struct hosted_guest *t, const struct wire_heartbeat *beat)
{
	struct daemon *d = &t->daemon;
	struct job *job;

	if (!t->agent)
		return;
	if (beat->has_spool_seq && beat->spool_seq > t->spool_seq)
		t->spool_seq = beat->spool_seq;
	job = beat_job(t, beat);
	job_free(d->newer);
	d->newer = NULL;
	/* A command may end its task at once, which calls off the commands that wait.  So a
	 * heartbeat with a new command does not wait for the one before. */
	if (!d->under_way || (d->under_way < UNDER_WAY_MOST && beat->n_running > 0 &&
			      hash_of(job->call.in) != d->beat_hash))
		note_beat(t, job);
	else
		d->newer = job;
}

void daemon_beat(struct hosted_guest *t, struct packet *heartbeat)
{
	struct wire_heartbeat beat = { 0 };
	struct arena a = { 0 };
	struct fault f = { 0 };

	t->daemon.heard_at = clock_boot_ms();
	if (answer_decode(heartbeat, &beat, &a, &f) == 0) {
		if (beat.n_running > BEAT_RUNNING_MOST)
			beat.n_running = BEAT_RUNNING_MOST;
		hear_beat(t, &beat);
		if (beat.results > 0)
			collect_poke(t, true);
	}
	if (f.code)
		log_seldom(t->host->log, &t->wrong, LOG_LEVEL_WARN,
			   "a guest says what it may not", LOG_TEXT("workspace", t->id),
			   LOG_FAULT(&f));
	arena_release(&a);
}

void daemon_pulse(struct hosted_guest *t)
{
	const struct wire_heartbeat beat = { 0 };

	t->daemon.heard_at = clock_boot_ms();
	hear_beat(t, &beat);
	collect_poke(t, false);
}

void daemon_tick(struct hosted_guest *t, int64_t now)
{
	struct daemon *d = &t->daemon;
	struct job *job;
	struct workspace_note_in *in;

	collect_tick(t);
	if (!d->heard_at)
		d->heard_at = now;
	if (d->offline || !t->agent || d->heard_at + SILENT_MS > now)
		return;
	d->offline = true;
	job = host_job(t->host, op_workspace_note, job_free, NULL);
	in = job->call.in;
	in->workspace = t->workspace;
	in->offline = true;
	host_submit(t->host, job);
}

void daemon_up(struct hosted_guest *t)
{
	t->daemon.heard_at = clock_boot_ms();
	t->daemon.known = false;
	collect_poke(t, false);
}

void daemon_release(struct hosted_guest *t)
{
	job_free(t->daemon.newer);
	collect_release(t);
}
