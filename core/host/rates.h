/*
 * rates - the buckets of calls that a host keeps in memory: see core/access/rate.h.
 *
 * Most calls only read or fail, so they write no row. So calls are counted in memory. The
 * buckets are written to rows within RATE_KEEP_MS, by a transaction with other writes or by a
 * transaction without fsync. If every commit wrote a bucket's row, each commit would add one
 * page more to the WAL. Any thread may use the functions of this file.
 */
#ifndef CORE_HOST_RATES_H
#define CORE_HOST_RATES_H

#include "core/access/rate.h"

struct rates;

enum { RATE_KEEP_MS = 25 };

struct rates *rates_new(void);
void rates_free(struct rates *r); /* `r` may be NULL */
struct rate_keeper *rates_keeper(struct rates *r); /* the keeper is part of `r`, so the
						      caller need not free the keeper */
/* The `struct rates` that contains the keeper `k`; NULL if `k` is NULL. */
struct rates *rates_of(struct rate_keeper *k);

/* Whether buckets have to be written to rows. */
bool rates_owe(struct rates *r);
/* Whether a transaction that ends at `steady_ms` has to write the buckets, because the last
 * write of the buckets was at least RATE_KEEP_MS before this time. `steady_ms` is a time of
 * clock_steady_ms(). */
bool rates_due(const struct rates *r, int64_t steady_ms);
/* Copies at most `most` of the buckets that have to be written. Returns the number of copied
 * buckets. The copied buckets count as written. */
size_t rates_owed(struct rates *r, int64_t steady_ms, struct rate_bucket *out,
		  size_t most);
/* Marks buckets that could not be written, so that rates_owed() returns them again. */
void rates_unkept(struct rates *r, const struct rate_bucket *these, size_t n);

#endif
