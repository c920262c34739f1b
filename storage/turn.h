/*
 * turn - access to a state file in turns: byte locks of `state.lock`.
 *
 * The locks belong to the open file description (OFD), one per connection, so
 * that two connections of one process exclude each other too, and the kernel
 * drops them with the process.  A writer takes *next*, then *write*, and drops
 * *next*: at most one waits for *write*, all others queue at *next*, so that
 * nobody polls and a busy writer cannot overtake those who wait.
 *
 * `bell` is a one-byte file beside it, written after each commit; followers of the
 * event log watch it.
 */
#ifndef STORAGE_TURN_H
#define STORAGE_TURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/fault.h"
#include "storage/lock_holder.h"

/* Bytes of state.lock; 8 and above are free for others (the host). */
enum turn_byte {
	TURN_OPEN, /* exclusive while a state is opened for the first time */
	TURN_VERSION, /* shared while open, exclusive to migrate */
	TURN_NEXT,
	TURN_WRITE,
	TURN_WANTED, /* exclusive while a process waits to migrate */
};

struct turn {
	int lock, bell; /* descriptors; -1: none, and every call does nothing */
	/* The process that was in the way of the last turn to write, for all of the
	 * patience: the first wait for it began at `held_since`, the last one ended at
	 * `held_at` (CLOCK_MONOTONIC, ms). */
	struct lock_holder held_by;
	int64_t held_since, held_at;
};

/* Opens the lock and the bell in the folder `dir`: 0 or `unavailable`. */
int turn_open(struct turn *t, int dir, struct fault *f);
void turn_close(struct turn *t);

/* Waits for the lock, 20 s at most; then `unavailable`, which names its holder. */
int turn_lock(struct turn *t, enum turn_byte byte, bool exclusive, struct fault *f);
void turn_unlock(struct turn *t, enum turn_byte byte);
/* Takes the version byte alone to migrate, within `wait_ms`: 0, or `unavailable`, which
 * names the processes that have the state open.  Others see by turn_is_wanted() that it
 * waits. */
int turn_alone(struct turn *t, long wait_ms, struct fault *f);
/* turn_alone() for another reason, which the fault names, and unseen by others. */
int turn_alone_for(struct turn *t, long wait_ms, const char *why, struct fault *f);
/* Whether a process waits in turn_alone() for all others to close the state. */
bool turn_is_wanted(const struct turn *t);

/* Whether no other connection has the state open; if so, none can open it until
 * turn_share(). */
bool turn_last(struct turn *t);
void turn_share(struct turn *t);

/* Takes the turn to write: waits for eight seconds at most, but only a moment for a
 * process that was in the way the last time and still is.  0, or `unavailable`, which
 * names the holder. */
int turn_take(struct turn *t, struct fault *f);
void turn_give(struct turn *t);
void turn_ring(struct turn *t);

#endif
