/*
 * rate - how often a caller may call: token buckets, a bucket per agent and category.
 *
 * A bucket holds `burst` calls and gets `per_minute` of them back.  It is kept as one
 * number, the time at which it is full again, which is a row of `rate`.  A host keeps the
 * buckets in memory as well (core/host/rates.h); without a host each call writes its row.
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
	int64_t agent, category; /* its row */
	int64_t full_at;
};

/* Takes a call out of a bucket that is full at `*full_at`: 0, or the microseconds after which
 * there will be one, and nothing is taken.  `*full_at` comes back no later than of an empty bucket. */
int64_t rate_take(const struct rate_size *size, int64_t now, int64_t *full_at);
/* How many calls a bucket holds. */
int64_t rate_left(const struct rate_size *size, int64_t now, int64_t full_at);

/* The buckets that a host knows; any thread may call. */
struct rate_keeper {
	/* Sets full_at, which is what the row says, to the time that the host knows where that
	 * is later: then the row is not written yet. */
	void (*look)(struct rate_keeper *k, struct rate_bucket *b);
	/* rate_take() of a bucket after a look(): full_at becomes what it now is. */
	int64_t (*take)(struct rate_keeper *k, const struct rate_size *size, int64_t now,
			struct rate_bucket *b);
};

#endif
