/*
 * rate - how often a caller may call: token buckets, a bucket per agent and category.
 *
 * A bucket holds `burst` calls and gets back `per_minute` calls in a minute. The table `rate`
 * keeps a row for each bucket, with one number: the time at which the bucket is full again. A
 * host keeps the buckets in memory as well (core/host/rates.h); without a host each call writes
 * the bucket's row.
 *
 * Times here are microseconds since 1970.
 */
#ifndef CORE_ACCESS_RATE_H
#define CORE_ACCESS_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rate_size {
	int64_t burst, per_minute; /* both above 0 */
};

struct rate_bucket {
	int64_t agent, category; /* the key of the bucket's row */
	int64_t full_at;
};

/* Takes a call out of a bucket that is full at `*full_at`, and returns 0. If the bucket is
 * empty, returns the microseconds until the bucket has a call again. `*full_at` is set to the
 * new time at which the bucket is full. The new `*full_at` is at most the time at which an
 * empty bucket would be full. */
int64_t rate_take(const struct rate_size *size, int64_t now, int64_t *full_at);
/* How many calls a bucket holds now. */
int64_t rate_left(const struct rate_size *size, int64_t now, int64_t full_at);

/* The buckets that a host keeps in memory. Any thread may call the functions of this struct. */
struct rate_keeper {
	/* On entry, full_at is the time in the bucket's row. Sets full_at to the time in the
	 * host's memory if that time is later. That time is later while the host has not yet
	 * written the row. */
	void (*look)(struct rate_keeper *k, struct rate_bucket *b);
	/* Does the same as look(), then calls rate_take() on the bucket. full_at gets the
	 * bucket's new time. */
	int64_t (*take)(struct rate_keeper *k, const struct rate_size *size, int64_t now,
			struct rate_bucket *b);
};

#endif
