#include "core/host/rates.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/host/host_inside.h"

enum { PLACES_LEAST = 256 };

struct place {
	struct rate_bucket bucket; /* if bucket.agent is 0, the place is empty */
	bool owed; /* the bucket has to be written to its row */
};

struct rates {
	struct rate_keeper keeper;
	pthread_mutex_t lock;
	struct place *places; /* hash table; n_places is a power of two */
	size_t n_places, n;
	struct rate_bucket *owed; /* buckets that have to be written to rows */
	size_t room;
	atomic_size_t n_owed;
	_Atomic int64_t written_at; /* clock_steady_ms() of the last write to rows */
};

/* The place of a bucket in the hash table. If the bucket has no place yet, returns an empty
 * place for it. */
static struct place *rates_place_of(const struct rates *r, const struct rate_bucket *b)
{
	uint64_t at = ((uint64_t)b->agent * 4 + (uint64_t)b->category) *
		      UINT64_C(0x9e3779b97f4a7c15);
	struct place *p;

	for (at >>= 32;; at++) {
		p = &r->places[at & (r->n_places - 1)];
		if (!p->bucket.agent ||
		    (p->bucket.agent == b->agent && p->bucket.category == b->category))
			return p;
	}
}

/* Whether a bucket has to stay in the table, because the bucket is not full yet, or because its
 * row has to be written. */
static bool is_live(const struct place *p, int64_t now)
{
	return p->bucket.agent && (p->owed || p->bucket.full_at > now);
}

static void rates_make_room(struct rates *r, int64_t now)
{
	struct place *old = r->places;
	size_t n_old = r->n_places;

	r->n = 0;
	for (size_t i = 0; i < n_old; i++)
		r->n += is_live(&old[i], now);
	while (r->n * 2 >= r->n_places)
		r->n_places *= 2;
	r->places = xcalloc(r->n_places, sizeof(*r->places));
	for (size_t i = 0; i < n_old; i++)
		if (is_live(&old[i], now))
			*rates_place_of(r, &old[i].bucket) = old[i];
	free(old);
}

static void owe(struct rates *r, struct place *p)
{
	size_t n = atomic_load_explicit(&r->n_owed, memory_order_relaxed);

	if (p->owed)
		return;
	if (n == r->room) {
		r->room = r->room ? 2 * r->room : PLACES_LEAST;
		r->owed = xreallocarray(r->owed, r->room, sizeof(*r->owed));
	}
	r->owed[n] = p->bucket;
	p->owed = true;
	atomic_store(&r->n_owed, n + 1);
}

struct rates *rates_of(struct rate_keeper *k)
{
	return (struct rates *)k; /* `keeper` is the first member */
}

static void rates_look(struct rate_keeper *k, struct rate_bucket *b)
{
	struct rates *r = rates_of(k);
	const struct place *p;

	pthread_mutex_lock(&r->lock);
	p = rates_place_of(r, b);
	if (p->bucket.agent && p->bucket.full_at > b->full_at)
		b->full_at = p->bucket.full_at;
	pthread_mutex_unlock(&r->lock);
}

static int64_t rates_take(struct rate_keeper *k, const struct rate_size *size,
			  int64_t now, struct rate_bucket *b)
{
	struct rates *r = rates_of(k);
	struct place *p;
	int64_t wait;

	pthread_mutex_lock(&r->lock);
	p = rates_place_of(r, b);
	if (!p->bucket.agent && r->n * 4 >= r->n_places * 3) {
		rates_make_room(r, now);
		p = rates_place_of(r, b);
	}
	if (!p->bucket.agent) {
		p->bucket = *b;
		r->n++;
	} else if (p->bucket.full_at > b->full_at)
		b->full_at = p->bucket.full_at;
	wait = rate_take(size, now, &b->full_at);
	if (p->bucket.full_at != b->full_at) {
		p->bucket.full_at = b->full_at;
		owe(r, p);
	}
	pthread_mutex_unlock(&r->lock);
	return wait;
}

bool rates_owe(struct rates *r)
{
	return atomic_load_explicit(&r->n_owed, memory_order_relaxed) > 0;
}

bool rates_due(const struct rates *r, int64_t steady_ms)
{
	return steady_ms >= atomic_load(&r->written_at) + RATE_KEEP_MS;
}

size_t rates_owed(struct rates *r, int64_t steady_ms, struct rate_bucket *out,
		  size_t most)
{
	size_t left, n = 0;

	if (!rates_owe(r))
		return 0;
	pthread_mutex_lock(&r->lock);
	left = atomic_load(&r->n_owed);
	while (left > 0 && n < most) {
		struct place *p = rates_place_of(r, &r->owed[--left]);

		p->owed = false;
		out[n++] = p->bucket;
	}
	atomic_store(&r->n_owed, left);
	atomic_store(&r->written_at, steady_ms);
	pthread_mutex_unlock(&r->lock);
	return n;
}

void rates_unkept(struct rates *r, const struct rate_bucket *these, size_t n)
{
	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < n; i++) {
		struct place *p = rates_place_of(r, &these[i]);

		if (p->bucket.agent)
			owe(r, p);
	}
	pthread_mutex_unlock(&r->lock);
}

struct rates *rates_new(void)
{
	struct rates *r = xcalloc(1, sizeof(*r));

	r->keeper = (struct rate_keeper){ .look = rates_look, .take = rates_take };
	pthread_mutex_init(&r->lock, NULL);
	r->n_places = PLACES_LEAST;
	r->places = xcalloc(r->n_places, sizeof(*r->places));
	return r;
}

struct rate_keeper *rates_keeper(struct rates *r)
{
	return &r->keeper;
}

void rates_free(struct rates *r)
{
	if (!r)
		return;
	pthread_mutex_destroy(&r->lock);
	free(r->places);
	free(r->owed);
	free(r);
}

/* --- spending ---------------------------------------------------------------- */

/*
 * spending - writes the buckets, which count the calls of agents, to rows soon after the calls.
 *
 * Every RATE_KEEP_MS one of the writer's transactions also writes the buckets (batch.c). If the
 * writer has no transaction, a timer starts a transaction for the buckets.
 */

struct spending {
	struct rates *rates;
	uv_timer_t timer; /* starts a write of the buckets */
};

static void spending_keep(struct host *host)
{
	if (rates_owe(host->spending->rates))
		host_submit(host, host_job(host, op_limit_keep, job_free, NULL));
}

static void spending_on_timer(uv_timer_t *t)
{
	spending_keep(t->data);
}

static void spending_make(struct host *host)
{
	host->spending->rates = rates_new();
	host->settings.rates = rates_keeper(host->spending->rates);
	uv_timer_init(&host->loop, &host->spending->timer);
	host->spending->timer.data = host;
}

/* Starts the timer if buckets have to be written to rows. */
static void spending_look(struct host *host)
{
	uv_timer_t *t = &host->spending->timer;

	if (!host->stopping && !uv_is_active((uv_handle_t *)t) &&
	    rates_owe(host->spending->rates))
		uv_timer_start(t, spending_on_timer, RATE_KEEP_MS, 0);
}

/* Writes the buckets for the last time, and closes the timer. */
static void spending_close(struct host *host)
{
	spending_keep(host);
	uv_close((uv_handle_t *)&host->spending->timer, NULL);
}

static void spending_release(struct host *host)
{
	rates_free(host->spending->rates);
}

const struct host_room room_spending = {
	.size = sizeof(struct spending),
	.make = spending_make,
	.look = spending_look,
	.close = spending_close,
	.release = spending_release,
};
