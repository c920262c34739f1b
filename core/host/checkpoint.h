/*
 * checkpoint - keeps the WAL short without holding up the writer.
 *
 * A thread with a connection of its own copies frames (PASSIVE) when the
 * writer says that there are many.  After that the writer runs one short PASSIVE
 * between two batches, with nothing left to copy.  The writer then waits a few
 * milliseconds for reads that began earlier, and the WAL starts anew.  A short
 * WAL is copied too when a write found no room: on a full disk what has been copied is
 * the only room there is.
 */
#ifndef CORE_HOST_CHECKPOINT_H
#define CORE_HOST_CHECKPOINT_H

#include "storage/store.h"

enum { CHECKPOINT_FRAMES = 2000 };

struct checkpoint;

int checkpoint_open(struct checkpoint **out, const char *dir, unsigned flags,
		    struct fault *f);
void checkpoint_close(struct checkpoint *c); /* NULL is fine */

/* Called by the writer between two batches. */
void checkpoint_step(struct checkpoint *c, struct store *writer);

#endif
