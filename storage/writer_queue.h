/*
 * writer_queue - access to a state file in turns: byte locks of `state.lock`.
 *
 * The locks belong to the open file description (OFD), one per connection.  So two
 * connections of one process exclude each other too, and the kernel drops the locks with
 * the process.  A writer takes *next*, then *write*, and drops *next*.  So at most one
 * writer waits for *write*, and all others queue at *next*: nobody polls, and a busy
 * writer cannot overtake the others.
 *
 * `bell` is a one-byte file beside it, written after each commit; followers of the
 * event log watch it.
 */
#ifndef STORAGE_WRITER_QUEUE_H
#define STORAGE_WRITER_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/fault.h"
#include "storage/lock_holder.h"

/* Bytes of state.lock; 8 and above are free for others (the host). */
enum writer_queue_byte {
	WRITER_QUEUE_OPEN, /* exclusive while a state is opened for the first time */
	WRITER_QUEUE_VERSION, /* shared while open, exclusive to migrate */
	WRITER_QUEUE_NEXT,
	WRITER_QUEUE_WRITE,
	WRITER_QUEUE_WANTED, /* exclusive while a process waits to migrate */
};

struct writer_queue {
	int lock, bell; /* descriptors; -1: not open, and every call does nothing */
	/* The process that was in the way of the last turn to write, for all of the
	 * patience: the first wait for it began at `held_since`, the last one ended at
	 * `held_at` (CLOCK_MONOTONIC, ms). */
	struct lock_holder held_by;
	int64_t held_since, held_at;
};

/* Opens the lock and the bell in the folder `dir`: 0 or `unavailable`. */
int writer_queue_open(struct writer_queue *t, int dir, struct fault *f);
void writer_queue_close(struct writer_queue *t);

/* Waits for the lock, 20 s at most; then `unavailable`, which names the lock's holder. */
int writer_queue_lock(struct writer_queue *t, enum writer_queue_byte byte, bool exclusive,
		      struct fault *f);
void writer_queue_unlock(struct writer_queue *t, enum writer_queue_byte byte);
/* Takes the version byte alone to migrate, within `wait_ms`: 0, or `unavailable`, which
 * names the processes that have the state open.  Others see by writer_queue_is_wanted() that it
 * waits. */
int writer_queue_alone(struct writer_queue *t, long wait_ms, struct fault *f);
/* writer_queue_alone() for another reason, which the fault names, and unseen by others. */
int writer_queue_alone_for(struct writer_queue *t, long wait_ms, const char *why,
			   struct fault *f);
/* Whether a process waits in writer_queue_alone() for all others to close the state. */
bool writer_queue_is_wanted(const struct writer_queue *t);

/* Whether no other connection has the state open; if so, none can open it until
 * writer_queue_share(). */
bool writer_queue_last(struct writer_queue *t);
void writer_queue_share(struct writer_queue *t);

/* Takes the turn to write: waits for eight seconds at most, but only a moment for a
 * process that was in the way the last time and still is.  0, or `unavailable`, which
 * names the holder. */
int writer_queue_take(struct writer_queue *t, struct fault *f);
void writer_queue_give(struct writer_queue *t);
void writer_queue_ring(struct writer_queue *t);

#endif
