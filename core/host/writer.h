/*
 * writer - the writer's thread, which runs all writes of a host except the calls of workers
 * (calls.c).
 *
 * The thread takes the queued calls, runs the calls in batches, and gives each batch back after
 * its COMMIT. Calls run in the order in which they were queued.
 */
#ifndef CORE_HOST_WRITER_H
#define CORE_HOST_WRITER_H

#include "core/host/queue.h"

struct metrics;
struct writer;

struct writer_options {
	const char *dir; /* the state's folder */
	unsigned flags; /* flags for store_open() */
	struct metrics *metrics; /* borrowed: counts the writer's transactions */
};

/* Gets the jobs of a committed batch. Called on the writer's thread. */
typedef void batch_done(void *arg, struct chain *jobs);

int writer_open(struct writer **out, const struct writer_options *options,
		batch_done *done, void *arg, struct fault *f);
/* Runs the queued calls, then ends the thread and closes the database. Closing the database
 * empties the WAL. `w` may be NULL. */
void writer_close(struct writer *w);
void writer_push(struct writer *w, struct chain *jobs);
/* Queues the first jobs of a chain. Right afterwards the caller must call writer_push() with
 * the other jobs, even if there are none. The writer's thread begins with the first jobs, and
 * keeps its transaction open for the other jobs. */
void writer_push_part(struct writer *w, struct chain *jobs);

#endif
