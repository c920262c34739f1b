/*
 * metrics - counts of a host and its state, for Prometheus.
 *
 * The loop's thread counts calls, and the writer's thread counts commits. A count is one
 * addition without a lock. On a request for metrics, a reader counts the new events of the
 * event log, including events of other processes. The reader also reads from the state's rows
 * the current values that are not counts of events or calls. The table in metrics_text.c lists
 * every metric with its name, type, labels and help.
 */
#ifndef CORE_HOST_METRICS_METRICS_H
#define CORE_HOST_METRICS_METRICS_H

#include "core/call/call.h"

struct host;
struct job;
struct metrics;

/* Limits whose refusals are counted. The numbers below HIT_PAIR are the limits of enum
 * rate_category. */
enum {
	HIT_PAIR = RATE_CATEGORY_TEAM_MESSAGE + 1, /* see core/access/pair.h */
	HIT_EXHAUSTED, /* a capacity or budget is used up */
	HIT_QUEUE, /* too many calls wait for a thread */
	HIT_CLIENTS, /* too many clients are connected */
	HITS
};

struct metrics *metrics_new(void);
void metrics_free(struct metrics *m); /* `m` may be NULL */

/* --- counting ------------------------------------------------------------------- */

/* Counts a call that ended `ns` after its arrival. Called on the loop's thread. If the call
 * waited for an event, the call's time is not counted, since the wait is not work of the host. */
void metrics_call(struct metrics *m, const struct call *call, uint64_t ns);
/* Counts a call that was refused before it began. `op` is NULL if the operation is unknown. */
void metrics_refused(struct metrics *m, const struct op *op, const struct fault *why);
/* Counts a refusal by a limit. */
void metrics_hit(struct metrics *m, int limit);
/* Counts a transaction of `calls` calls. The transaction synced the disk `syncs` times, and
 * these syncs took `ns` in all. Called on the writer's thread. */
void metrics_batch(struct metrics *m, size_t calls, int64_t syncs, int64_t ns);

/* --- telling -------------------------------------------------------------------- */

#endif
