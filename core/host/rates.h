/*
 * rates - the buckets of calls that a host keeps in memory: see core/access/rate.h.
 *
 * Most calls write no row: they are reads, or they fail. So calls are counted in memory. The
 * buckets are written to rows within RATE_KEEP_MS, by a transaction with other writes or by a
 * transaction without fsync. A bucket's row in every commit would cost a page of the log each
 * time. Any thread may use these functions.
 */
#ifndef CORE_HOST_RATES_H
#define CORE_HOST_RATES_H

#include "core/access/rate.h"

struct rates;

enum { RATE_KEEP_MS = 25 };

struct rates *rates_new(void);
void rates_free(struct rates *r); /* `r` may be NULL */
struct rate_keeper *rates_keeper(struct rates *r); /* a member of `r` */
/* The buckets of the keeper `k`; NULL if `k` is NULL. */
struct rates *rates_of(struct rate_keeper *k);

/* Whether buckets have to be written to rows. */
bool rates_owe(struct rates *r);
/* Whether a transaction that ends at `steady_ms` (clock_steady_ms()) has to write the buckets,
 * because the last write is RATE_KEEP_MS ago. */
bool rates_due(const struct rates *r, int64_t steady_ms);
/* Copies at most `most` of the buckets that have to be written, and returns their number. The
 * copied buckets count as written. */
size_t rates_owed(struct rates *r, int64_t steady_ms, struct rate_bucket *out,
		  size_t most);
/* Marks buckets that could not be written, so that they are written later. */
void rates_unkept(struct rates *r, const struct rate_bucket *these, size_t n);

#endif
