/*
 * writer - the writer's thread, which owns the only write connection of a host.
 *
 * It takes what is queued, runs it as batches and hands each batch back at
 * once.  Calls are run in the order in which they were given.
 */
#ifndef CORE_HOST_WRITER_H
#define CORE_HOST_WRITER_H

#include "core/host/queue.h"

struct metrics;
struct writer;

struct writer_options {
	const char *dir; /* the state's folder */
	unsigned flags; /* of store_open() */
	struct metrics *metrics; /* borrowed: counts what its transactions take */
};

/* `done` gets each batch when it is committed, on the writer's thread. */
typedef void batch_done(void *arg, struct chain *jobs);

int writer_open(struct writer **out, const struct writer_options *options,
		batch_done *done, void *arg, struct fault *f);
/* Runs what is queued, then ends the thread and closes the connection, which
 * empties the WAL.  NULL is fine. */
void writer_close(struct writer *w);
void writer_push(struct writer *w, struct chain *jobs);
/* A writer_push() follows at once, if only of an empty chain: the writer's thread begins
 * with these, and keeps its transaction open for those. */
void writer_push_part(struct writer *w, struct chain *jobs);

#endif
