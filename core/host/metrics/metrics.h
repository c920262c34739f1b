/*
 * metrics - numbers of a host and its state, as Prometheus reads them.
 *
 * The loop's thread counts calls, and the writer's thread counts commits. Each count is one
 * addition, which waits for nothing. On a request for metrics, a reader counts the events of
 * the event log, also events of other processes. The same reader also reads the present numbers
 * from the rows. One table, in metrics_text.c, has every metric with its name, type, labels and
 * help.
 */
#ifndef CORE_HOST_METRICS_METRICS_H
#define CORE_HOST_METRICS_METRICS_H

#include "core/call/call.h"

struct host;
struct job;
struct metrics;

/* Limits whose refusals are counted, beside the limits of enum rate_category. */
enum {
	HIT_PAIR = RATE_CATEGORY_TEAM_MESSAGE + 1, /* a message too soon after another */
	HIT_EXHAUSTED, /* a capacity or budget is used up */
	HIT_QUEUE, /* too many calls wait for a thread */
	HIT_CLIENTS, /* too many clients are connected */
	HITS
};

struct metrics *metrics_new(void);
void metrics_free(struct metrics *m); /* `m` may be NULL */

/* --- counting ------------------------------------------------------------------- */

/* Counts a call that ended `ns` after its arrival; called on the loop's thread. The time of a
 * call that waited for an event is not counted, since this time would mean nothing. */
void metrics_call(struct metrics *m, const struct call *call, uint64_t ns);
/* Counts a call that was refused before it began; `op` is NULL if the operation is not known. */
void metrics_refused(struct metrics *m, const struct op *op, const struct fault *why);
/* Counts a refusal by a limit. */
void metrics_hit(struct metrics *m, int limit);
/* Counts a transaction of `calls` calls, in which the disk was synced `syncs` times in `ns`
 * altogether. Called on the writer's thread. */
void metrics_batch(struct metrics *m, size_t calls, int64_t syncs, int64_t ns);

/* --- telling -------------------------------------------------------------------- */

#endif
