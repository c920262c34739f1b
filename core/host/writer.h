/*
 * writer - the writer's thread, which owns the only write connection of a host.
 *
 * The thread takes the queued calls, runs them in batches, and gives each batch back when it is
 * committed. Calls run in the order in which they were queued.
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

/* `done` gets the jobs of each committed batch, on the writer's thread. */
typedef void batch_done(void *arg, struct chain *jobs);

int writer_open(struct writer **out, const struct writer_options *options,
		batch_done *done, void *arg, struct fault *f);
/* Runs the queued calls, then ends the thread and closes the connection, which empties the WAL.
 * `w` may be NULL. */
void writer_close(struct writer *w);
void writer_push(struct writer *w, struct chain *jobs);
/* Pushes a part of the jobs. The caller pushes the rest at once by writer_push(), whose chain
 * may be empty. The writer's thread begins with the part, and keeps its transaction open for
 * the rest. */
void writer_push_part(struct writer *w, struct chain *jobs);

#endif
