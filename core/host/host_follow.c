#include "core/host/host_follow.h"

#include <stdio.h>

#include "core/host/host_inside.h"

enum { PAGE = 1000, NET_MS = 250, REST_MS = 10 };

struct page {
	struct host_event_row *rows;
	size_t n;
};

/* --- on a reader --------------------------------------------------------------- */

/* Reads a page of events. The job has a call only because the SQL macros need a call. No
 * operation is run. */
static void follow_read_page(struct job *job, struct store *store)
{
	struct call *call = &job->call;
	struct page *page = arena_alloc(&call->arena, sizeof(*page));
	struct host_event_row row;
	struct query q = { 0 };

	call->store = store;
	call->out = page;
	if (call_begin(call, false))
		return;
	while (sql_each(call, &q, host_events, &row, .after = job->number,
			.limit = PAGE) > 0)
		arena_add(&call->arena, page->rows, page->n, row);
	store_rollback(store);
}

static void host_follow_read_end(struct job *job, struct store *store)
{
	struct call *call = &job->call;
	struct event_last_row last = { 0 };

	call->store = store;
	if (call_begin(call, false))
		return;
	if (sql_row(call, event_last, &last) > 0)
		job->number = last.seq;
	store_rollback(store);
}

/* --- on the loop ---------------------------------------------------------------- */

static size_t host_follow_place_of(enum wake wake, int64_t key)
{
	return ((uint64_t)key * 8 + wake) * 0x9e3779b97f4a7c15u >> 54;
}

static void wake_key(struct host *host, enum wake wake, int64_t key, int64_t seq)
{
	host->follow->recent[host_follow_place_of(wake, key)] = seq;
	waiters_wake(host, wake, key, seq);
}

static void tell_waiters(struct host *host, const struct host_event_row *e)
{
	const struct event_kind *kind = event_kind((int)e->kind);
	unsigned wakes = kind ? kind->wakes : 0;

	if (wakes & 1u << WAKE_READY)
		wake_key(host, WAKE_READY, e->team, e->seq);
	if (wakes & 1u << WAKE_EVENT) {
		wake_key(host, WAKE_EVENT, e->team, e->seq);
		if (e->team) /* calls that wait for events of all teams have the key 0 */
			wake_key(host, WAKE_EVENT, 0, e->seq);
	}
	if (wakes & 1u << WAKE_INBOX && e->target)
		wake_key(host, WAKE_INBOX, e->target, e->seq);
	if (wakes & 1u << WAKE_INBOX && !e->target) {
		/* An event for several agents sets only one key of `recent`. The key -team
		 * stands for all inboxes of the team. */
		wake_key(host, WAKE_INBOX, -e->team, e->seq);
		waiters_sweep(host, e->team, e->seq);
	}
}

static void host_follow_on_page(struct job *job)
{
	struct host *host = job->owner;
	struct follow *w = host->follow;
	struct page *page = job->call.out;
	size_t n = page ? page->n : 0;

	w->reading = false;
	for (size_t i = 0; i < n; i++) {
		w->position = page->rows[i].seq;
		host_event(host, &page->rows[i]);
	}
	job_free(job);
	host_caught_up(host, false);
	w->rests_until = n && n < PAGE && host_follows(host) < FOLLOWS_NOW
				 ? uv_now(&host->loop) + REST_MS
				 : 0;
	if (w->again || n == PAGE)
		follow_poke(host);
}

static void read_next(struct host *host)
{
	struct job *job = job_new(&host->jobs);

	job->owner = host;
	job->number = host->follow->position;
	job->read = follow_read_page;
	job->done = host_follow_on_page;
	host->follow->reading = true;
	host->follow->again = false;
	host_read(host, job);
}

static void on_later(uv_timer_t *later)
{
	follow_poke(later->data);
}

void follow_poke(struct host *host)
{
	struct follow *w = host->follow;
	const uint64_t now = uv_now(&host->loop);
	const bool rests = w->rests_until > now && host_follows(host) < FOLLOWS_NOW;

	if (!w->wanted || host->stopping)
		return;
	if (w->reading)
		w->again = true;
	else if (!rests)
		read_next(host);
	else if (!uv_is_active((uv_handle_t *)&w->later))
		uv_timer_start(&w->later, on_later, w->rests_until - now, 0);
}

static void on_bell(uv_fs_event_t *bell, const char *name, int events, int status)
{
	(void)name;
	(void)events;
	(void)status;
	follow_poke(bell->data);
}

static void on_net(uv_timer_t *net)
{
	struct host *host = net->data;

	if (host_follows(host) == FOLLOWS_NOT) {
		host->follow->wanted = false;
		uv_timer_stop(net);
		uv_fs_event_stop(&host->follow->bell);
		return;
	}
	follow_poke(host);
}

static void follow_on_end(struct job *job)
{
	struct host *host = job->owner;
	struct follow *w = host->follow;
	bool missed;

	w->reading = false;
	missed = !job->call.fault.code;
	if (missed)
		w->since = w->position = job->number;
	job_free(job);
	host_caught_up(host, missed);
	follow_poke(host);
}

/* Begins to read the event log after its newest event. The events up to the newest event are
 * not read. Calls that wait already may have missed some of these events, so each waiting call
 * is run again. */
void follow_want(struct host *host)
{
	struct follow *w = host->follow;
	char bell[4200];
	struct job *job;

	if (host->stopping)
		return;
	if (w->wanted) {
		if (uv_is_active((uv_handle_t *)&w->later))
			follow_poke(host);
		return;
	}
	w->wanted = true;
	snprintf(bell, sizeof(bell), "%s/bell", host->home->dir);
	uv_fs_event_start(&w->bell, on_bell, bell, 0);
	uv_timer_start(&w->net, on_net, NET_MS, NET_MS);
	if (w->reading)
		return;
	job = job_new(&host->jobs);
	job->owner = host;
	job->read = host_follow_read_end;
	job->done = follow_on_end;
	w->reading = true;
	host_read(host, job);
}

bool follow_moved(struct host *host, enum wake wake, int64_t key, int64_t team,
		  int64_t as_of)
{
	const struct follow *w = host->follow;

	if (!w->wanted || w->position <= as_of)
		return false;
	if (as_of < w->since)
		return true;
	if (wake == WAKE_INBOX && w->recent[host_follow_place_of(wake, -team)] > as_of)
		return true;
	return w->recent[host_follow_place_of(wake, key)] > as_of;
}

static void follow_make(struct host *host)
{
	uv_timer_init(&host->loop, &host->follow->net);
	uv_timer_init(&host->loop, &host->follow->later);
	uv_fs_event_init(&host->loop, &host->follow->bell);
	host->follow->net.data = host->follow->later.data = host->follow->bell.data =
		host;
}

static void follow_close(struct host *host)
{
	uv_close((uv_handle_t *)&host->follow->net, NULL);
	uv_close((uv_handle_t *)&host->follow->later, NULL);
	uv_close((uv_handle_t *)&host->follow->bell, NULL);
}

const struct host_room room_follow = {
	.size = sizeof(struct follow),
	.make = follow_make,
	.event = tell_waiters,
	.close = follow_close,
};
