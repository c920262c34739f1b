/* metrics_count - adding to the counters. */
#include <stdlib.h>
#include <string.h>

#include "core/access/limit.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/host/metrics/metrics_inside.h"

const struct scale scale_ns = { {
	{ 250000, "0.00025" },
	{ 500000, "0.0005" },
	{ 1000000, "0.001" },
	{ 2500000, "0.0025" },
	{ 5000000, "0.005" },
	{ 10000000, "0.01" },
	{ 50000000, "0.05" },
	{ 250000000, "0.25" },
	{ 2500000000, "2.5" },
} };

const struct scale scale_calls = { {
	{ 1, "1" },
	{ 2, "2" },
	{ 4, "4" },
	{ 8, "8" },
	{ 16, "16" },
	{ 32, "32" },
	{ 64, "64" },
	{ 128, "128" },
	{ 256, "256" },
} };

static void observe(struct histogram *h, const struct scale *scale, uint64_t value)
{
	int i = 0;

	while (i < BOUNDS && value > scale->bound[i].most)
		i++;
	counter_add(&h->bucket[i], 1);
	counter_add(&h->sum, value);
}

/* The limit that a fault tells of, or HITS. */
static int hit_of(const struct op *op, const struct fault *f)
{
	if (f->code == FAULT_EXHAUSTED)
		return HIT_EXHAUSTED;
	if (f->code != FAULT_RATE_LIMITED)
		return HITS;
	return *f->where || op->rate == RATE_FREE ? HIT_PAIR
						  : (int)limit_category(op->rate);
}

static void count_fault(struct metrics *m, const struct op *op, const struct fault *f)
{
	struct op_count *c = &m->ops[op ? (size_t)op->index : op_count];
	int hit = op ? hit_of(op, f) : HITS;

	counter_add(&c->ended[f->code ? -1 - f->code : FAULT_COUNT], 1);
	if (hit < HITS)
		counter_add(&m->hits[hit], 1);
	if (f->code == FAULT_CONFLICT && strcmp(f->where, "/epoch") == 0)
		counter_add(&m->old_epochs, 1);
}

void metrics_call(struct metrics *m, const struct call *call, uint64_t ns)
{
	count_fault(m, call->op, &call->fault);
	if (!call->waited)
		observe(&m->ops[call->op->index].time, &scale_ns, ns);
}

void metrics_refused(struct metrics *m, const struct op *op, const struct fault *why)
{
	count_fault(m, op, why);
}

void metrics_hit(struct metrics *m, int limit)
{
	counter_add(&m->hits[limit], 1);
}

void metrics_batch(struct metrics *m, size_t calls, int64_t syncs, int64_t ns)
{
	observe(&m->batch, &scale_calls, calls);
	for (int64_t i = 0; i < syncs; i++)
		observe(&m->sync, &scale_ns, (uint64_t)(ns / syncs));
}

struct metrics *metrics_new(void)
{
	struct metrics *m = xcalloc(1, sizeof(*m));

	m->ops = xcalloc(op_count + 1, sizeof(*m->ops));
	m->events = xcalloc(event_count, sizeof(*m->events));
	m->started_at = clock_wall_ms();
	return m;
}

int64_t metrics_counted_to(const struct metrics *m)
{
	return m->counted_to;
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	free(m->ops);
	free(m->events);
	free(m);
}

static void metrics_make(struct host *host)
{
	host->metrics = metrics_new();
}

/* Events behind the newest of now are counted; after a failure those before are, too. */
static void metrics_survey(struct host *host, struct store *store)
{
	struct call look = { .store = store };
	struct event_last_row last = { 0 };

	if (call_begin(&look, false))
		return;
	if (sql_row(&look, event_last, &last) > 0)
		host->metrics->counted_to = last.seq;
	store_rollback(store);
	arena_release(&look.arena);
}

static void metrics_release(struct host *host)
{
	metrics_free(host->metrics);
}

const struct host_room room_metrics = {
	.make = metrics_make,
	.survey = metrics_survey,
	.release = metrics_release,
};
