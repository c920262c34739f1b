/*
 * writer_queue - access to a state file in turns, by byte locks of `state.lock`.
 *
 * The locks belong to the open file description (OFD), and each connection has its own
 * description. So two connections of one process exclude each other too, and the kernel drops
 * the locks when the process ends. A writer takes *next*, then *write*, and drops *next*. So at
 * most one writer waits for *write*, and all other writers queue at *next*. No writer polls,
 * and a writer that writes very often cannot overtake the others.
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
	WRITER_QUEUE_OPEN, /* locked exclusively while a process opens the state */
	WRITER_QUEUE_VERSION, /* locked shared while the state is open, exclusively to migrate */
	WRITER_QUEUE_NEXT,
	WRITER_QUEUE_WRITE,
	WRITER_QUEUE_WANTED, /* locked exclusively while a process waits to migrate */
};

struct writer_queue {
	int lock, bell; /* descriptors, or -1 if closed (then calls do nothing) */
	/* The process that held the turn when the last wait for the turn failed. The first wait
	 * for this process began at `held_since`, and the last wait ended at `held_at`
	 * (CLOCK_MONOTONIC, ms). */
	struct lock_holder held_by;
	int64_t held_since, held_at;
};

/* Opens the lock and the bell in the folder `dir`.  Returns 0 or `unavailable`. */
int writer_queue_open(struct writer_queue *t, int dir, struct fault *f);
void writer_queue_close(struct writer_queue *t);

/* Waits for the lock for at most 20 s. If the lock is not free by then, returns `unavailable`
 * with a fault that names the lock's holder. */
int writer_queue_lock(struct writer_queue *t, enum writer_queue_byte byte, bool exclusive,
		      struct fault *f);
void writer_queue_unlock(struct writer_queue *t, enum writer_queue_byte byte);
/* Locks the version byte exclusively, to migrate the state. Waits for at most `wait_ms`.
 * Returns 0, or `unavailable` with the names of the processes that have the state open. Other
 * processes see by writer_queue_is_wanted() that this process waits. */
int writer_queue_alone(struct writer_queue *t, long wait_ms, struct fault *f);
/* Like writer_queue_alone(), but for the reason `why`, which the fault names. Other processes
 * do not see that this process waits. */
int writer_queue_alone_for(struct writer_queue *t, long wait_ms, const char *why,
			   struct fault *f);
/* Whether a process waits in writer_queue_alone() until all other processes have closed the
 * state. */
bool writer_queue_is_wanted(const struct writer_queue *t);

/* Returns true if no other connection has the state open. Then no other connection can open the
 * state until writer_queue_share(). */
bool writer_queue_last(struct writer_queue *t);
void writer_queue_share(struct writer_queue *t);

/* Takes the turn to write. Waits for eight seconds at most. Waits only a moment if the last
 * wait failed and the same process still holds the turn. Returns 0, or `unavailable` with the
 * name of the holder. */
int writer_queue_take(struct writer_queue *t, struct fault *f);
void writer_queue_give(struct writer_queue *t);
void writer_queue_ring(struct writer_queue *t);

#endif
