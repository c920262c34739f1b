/*
 * writer_queue - access to a state file in turns, by byte locks of `state.lock`.
 *
 * The locks belong to the open file description (OFD), and each connection has its own
 * description.  So two connections of one process exclude each other too, and the kernel drops
 * the locks when the process ends.  A writer takes *next*, then *write*, and drops *next*.  So
 * at most one writer waits for *write*, and all other writers queue at *next*.  No writer
 * polls, and a busy writer cannot overtake the others.
 *
 * `bell` is a one-byte file beside state.lock.  The bell is written after each commit, and
 * followers of the event log watch the bell.
 */
#ifndef STORAGE_WRITER_QUEUE_H
#define STORAGE_WRITER_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/fault.h"
#include "storage/lock_holder.h"

/* Bytes of state.lock.  Bytes from 8 on are free for other users (the host). */
enum writer_queue_byte {
	WRITER_QUEUE_OPEN, /* exclusive while a state is opened for the first time */
	WRITER_QUEUE_VERSION, /* shared while the state is open, exclusive to migrate */
	WRITER_QUEUE_NEXT,
	WRITER_QUEUE_WRITE,
	WRITER_QUEUE_WANTED, /* exclusive while a process waits to migrate */
};

struct writer_queue {
	int lock, bell; /* descriptors; -1: not open, and every call does nothing */
	/* The process that kept the last try for the turn waiting until the try failed.  The
	 * first wait for this process began at `held_since`, and the last wait ended at
	 * `held_at` (CLOCK_MONOTONIC, ms). */
	struct lock_holder held_by;
	int64_t held_since, held_at;
};

/* Opens the lock and the bell in the folder `dir`.  Returns 0 or `unavailable`. */
int writer_queue_open(struct writer_queue *t, int dir, struct fault *f);
void writer_queue_close(struct writer_queue *t);

/* Waits for the lock, 20 s at most.  After 20 s, returns `unavailable`, and the fault names the
 * lock's holder. */
int writer_queue_lock(struct writer_queue *t, enum writer_queue_byte byte, bool exclusive,
		      struct fault *f);
void writer_queue_unlock(struct writer_queue *t, enum writer_queue_byte byte);
/* Takes the version byte alone, to migrate the state, within `wait_ms`.  Returns 0, or
 * `unavailable` with the names of the processes that have the state open.  Other processes see
 * by writer_queue_is_wanted() that this process waits. */
int writer_queue_alone(struct writer_queue *t, long wait_ms, struct fault *f);
/* writer_queue_alone() for another reason (`why`), which the fault names.  Other processes do
 * not see that this process waits. */
int writer_queue_alone_for(struct writer_queue *t, long wait_ms, const char *why,
			   struct fault *f);
/* Whether a process waits in writer_queue_alone() until all others have closed the state. */
bool writer_queue_is_wanted(const struct writer_queue *t);

/* Whether no other connection has the state open.  If so, no other connection can open the
 * state until writer_queue_share(). */
bool writer_queue_last(struct writer_queue *t);
void writer_queue_share(struct writer_queue *t);

/* Takes the turn to write.  Waits for eight seconds at most.  If the process that held the turn
 * too long the last time still holds the turn, waits only a moment.  Returns 0, or
 * `unavailable` with the name of the holder. */
int writer_queue_take(struct writer_queue *t, struct fault *f);
void writer_queue_give(struct writer_queue *t);
void writer_queue_ring(struct writer_queue *t);

#endif
