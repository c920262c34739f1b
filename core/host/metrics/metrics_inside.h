/*
 * metrics_inside - counters that the files of the metrics share.
 */
#ifndef CORE_HOST_METRICS_METRICS_INSIDE_H
#define CORE_HOST_METRICS_METRICS_INSIDE_H

#include <stdatomic.h>

#include "core/host/host_inside.h"
#include "core/host/metrics/metrics.h"

enum { BOUNDS = 9, GUEST_STATES = WORKSPACE_STATE_DESTROYED, BUDGETS_MOST = 2000 };

/* A number that one thread adds to, and others may read. */
struct counter {
	_Atomic uint64_t n;
};

/* Buckets by size, the last one without a bound. */
struct histogram {
	struct counter bucket[BOUNDS + 1], sum;
};

/* The bounds of histograms, and how text has them. */
struct scale {
	struct {
		uint64_t most;
		const char *text;
	} bound[BOUNDS];
};

extern const struct scale scale_ns, scale_calls;

/* Calls of an operation. */
struct op_count {
	struct counter ended[FAULT_COUNT + 1]; /* by fault; the last: well */
	struct histogram time; /* ns */
};

struct metrics {
	struct op_count *ops; /* in the order of op_table, and one for those not known */
	struct counter hits[HITS], old_epochs;
	struct histogram batch, sync; /* calls; ns */
	int64_t started_at; /* ms since 1970 */
	int64_t counted_to; /* events up to this one are in `events` */
	int64_t *events; /* how many of each kind, in the order of event_table */
};

/* Numbers that rows and files gave at one time. */
struct scrape {
	struct metrics_now_row now;
	int64_t now_ms;
	int64_t counted_to; /* events up to this one are in `events` */
	int64_t oldest_at; /* when the oldest message that waits was sent; 0: none waits */
	int64_t guests[GUEST_STATES];
	int64_t *events; /* in the order of event_table */
	struct metrics_budgets_row *budgets;
	size_t n_budgets;
	int64_t wal_bytes, state_bytes, mirrored_to;
};

static inline uint64_t counter_read(const struct counter *c)
{
	return atomic_load_explicit(&c->n, memory_order_relaxed);
}

/* No other thread adds, so this needs no lock of the bus. */
static inline void counter_add(struct counter *c, uint64_t n)
{
	atomic_store_explicit(&c->n, counter_read(c) + n, memory_order_relaxed);
}

#endif
