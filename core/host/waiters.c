#include "core/host/waiters.h"

#include "core/base/clock.h"
#include "core/host/host_inside.h"

static size_t waiters_bucket_of(enum wake wake, int64_t key)
{
	return ((uint64_t)key * 8 + wake) * 0x9e3779b97f4a7c15u >> 56;
}

static void set_timer(struct host *host, int64_t due);

static void waiters_on_timer(uv_timer_t *timer)
{
	struct host *host = timer->data;
	struct waiters *w = host->waiters;
	int64_t now = clock_boot_ms(), next = 0;

	w->timer_due = 0;
	for (size_t i = 0; i < WAIT_BUCKETS; i++) {
		struct job *after;

		for (struct job *job = w->bucket[i]; job; job = after) {
			after = job->parked;
			if (job->due <= now) {
				waiters_drop(host, job);
				conn_answer(job);
			} else if (!next || job->due < next)
				next = job->due;
		}
	}
	if (next)
		set_timer(host, next);
}

static void set_timer(struct host *host, int64_t due)
{
	struct waiters *w = host->waiters;
	int64_t left = due - clock_boot_ms();

	if (w->timer_due && w->timer_due <= due)
		return;
	w->timer_due = due;
	uv_timer_start(&w->timer, waiters_on_timer, left > 0 ? (uint64_t)left : 0, 0);
}

static bool same_caller(const struct job *a, const struct job *b)
{
	if (a->call.identity.agent)
		return a->call.caller.agent == b->call.caller.agent;
	return a->conn == b->conn;
}

static size_t waits_of(const struct job *job)
{
	size_t n = 0;

	for (struct job *j = job->conn->host->waiters->n ? job->conn->jobs : NULL; j;
	     j = j->sibling)
		n += j->parked_at && same_caller(job, j);
	return n;
}

/* The number of the caller's waiting calls on connections other than the job's connection,
 * since an agent may have several connections. */
static size_t waits_elsewhere(struct host *host, const struct job *job)
{
	size_t n = 0;

	if (!job->call.identity.agent)
		return 0;
	for (struct conn *c = host->clients->first; c; c = c->next)
		for (struct job *j = c == job->conn ? NULL : c->jobs; j; j = j->sibling)
			n += j->parked_at && j->call.identity.agent &&
			     same_caller(job, j);
	return n;
}

static bool waiters_too_many(struct host *host, struct job *job)
{
	size_t most = (size_t)host->home->settings.config.limits_max_waits;

	if (host->waiters->n < most)
		return false;
	if (waits_of(job) + waits_elsewhere(host, job) < most)
		return false;
	/* A call that has already changed rows is answered with its present result. A call
	 * without changes fails. */
	if (!job->call.made || !(job->call.op->flags & OP_WRITE)) {
		fault_set(&job->call.fault, FAULT_EXHAUSTED, "",
			  "%zu calls of this caller wait already", most);
		job->call.fault.retry_after_ms = 1000;
	}
	return true;
}

static void run_again(struct host *host, struct job *job)
{
	job_again(job);
	job->call.seed = host_seed(host);
	if (job->call.op->flags & OP_WRITE)
		host_write(host, job);
	else
		host_read(host, job);
}

static void insert(struct waiters *w, struct job *job)
{
	size_t b = waiters_bucket_of(job->call.wait_on, job->call.wait_key);

	job->parked = w->bucket[b];
	job->parked_at = &w->bucket[b];
	if (job->parked)
		job->parked->parked_at = &job->parked;
	w->bucket[b] = job;
	w->n++;
}

bool waiters_park(struct host *host, struct job *job)
{
	int64_t patience = job_patience(job);

	job->due = job->first + patience * 1000;
	if (patience <= 0 || host->stopping || job->due <= clock_boot_ms() ||
	    waiters_too_many(host, job))
		return false;
	if (follow_moved(host, job->call.wait_on, job->call.wait_key,
			 job->call.caller.team, job->call.as_of)) {
		run_again(host, job);
		return true;
	}
	insert(host->waiters, job);
	set_timer(host, job->due);
	follow_want(host);
	return true;
}

void waiters_drop(struct host *host, struct job *job)
{
	*job->parked_at = job->parked;
	if (job->parked)
		job->parked->parked_at = job->parked_at;
	job->parked = NULL;
	job->parked_at = NULL;
	host->waiters->n--;
}

void waiters_wake(struct host *host, enum wake wake, int64_t key, int64_t seq)
{
	struct job *next;

	for (struct job *job = host->waiters->bucket[waiters_bucket_of(wake, key)]; job;
	     job = next) {
		next = job->parked;
		if (job->call.wait_on != wake || job->call.wait_key != key ||
		    job->call.as_of >= seq)
			continue;
		waiters_drop(host, job);
		run_again(host, job);
	}
}

static bool concerned(const struct job *job, int64_t team)
{
	return !team ||
	       (job->call.wait_on == WAKE_INBOX && job->call.caller.team == team);
}

void waiters_sweep(struct host *host, int64_t team, int64_t seq)
{
	for (size_t i = 0; i < WAIT_BUCKETS; i++) {
		struct job *next;

		for (struct job *job = host->waiters->bucket[i]; job; job = next) {
			next = job->parked;
			if (job->call.as_of >= seq || !concerned(job, team))
				continue;
			waiters_drop(host, job);
			run_again(host, job);
		}
	}
}

static void waiters_make(struct host *host)
{
	uv_timer_init(&host->loop, &host->waiters->timer);
	host->waiters->timer.data = host;
}

static enum follows waiters_follow(const struct host *host)
{
	return host->waiters->n ? FOLLOWS_NOW : FOLLOWS_NOT;
}

/* Runs all waiting calls again if events were missed. */
static void waiters_caught_up(struct host *host, bool missed)
{
	if (missed)
		waiters_sweep(host, 0, host->follow->since);
}

/* Answers all waiting calls with their present results. */
static void waiters_close(struct host *host)
{
	for (size_t i = 0; i < WAIT_BUCKETS; i++)
		while (host->waiters->bucket[i]) {
			struct job *job = host->waiters->bucket[i];

			waiters_drop(host, job);
			conn_answer(job);
		}
	uv_close((uv_handle_t *)&host->waiters->timer, NULL);
}

const struct host_room room_waiters = {
	.size = sizeof(struct waiters),
	.make = waiters_make,
	.follows = waiters_follow,
	.caught_up = waiters_caught_up,
	.close = waiters_close,
};
