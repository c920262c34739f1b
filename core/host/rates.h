/*
 * rates - the buckets of calls that a host keeps in memory: see core/access/rate.h.
 *
 * Most calls are reads, which write no row, or fail, and then leave none.  So calls are counted
 * here, in memory.  The buckets are written to rows within RATE_KEEP_MS, by a transaction with
 * other writes or by a transaction without fsync: a row in each commit would cost a page of
 * the log.  Any thread may call.
 */
#ifndef CORE_HOST_RATES_H
#define CORE_HOST_RATES_H

#include "core/access/rate.h"

struct rates;

enum { RATE_KEEP_MS = 25 };

struct rates *rates_new(void);
void rates_free(struct rates *r); /* NULL is fine */
struct rate_keeper *rates_keeper(struct rates *r); /* a part of it */
/* The buckets that calls with this keeper ask; NULL for NULL. */
struct rates *rates_of(struct rate_keeper *k);

/* Whether rows are to be written. */
bool rates_owe(struct rates *r);
/* Whether a transaction that ends at `steady_ms` (clock_steady_ms()) is to write them: none has
 * for RATE_KEEP_MS. */
bool rates_due(const struct rates *r, int64_t steady_ms);
/* Copies at most `most` buckets whose rows are to be written, which then count as written, and
 * returns how many. */
size_t rates_owed(struct rates *r, int64_t steady_ms, struct rate_bucket *out,
		  size_t most);
/* Buckets whose rows were not written after all: they are owed again. */
void rates_unkept(struct rates *r, const struct rate_bucket *these, size_t n);

#endif
