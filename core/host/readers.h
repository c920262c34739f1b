/*
 * readers - a few threads with read connections, which never wait for a writer.
 *
 * A reader runs a job's `read` with its connection, or the job's call if `read` is not set.
 * Calls of one agent run one at a time, so that other agents need not wait for all long reads
 * of that agent.
 */
#ifndef CORE_HOST_READERS_H
#define CORE_HOST_READERS_H

#include "core/host/writer.h"

enum { READERS = 2 };

struct readers;

int readers_open(struct readers **out, const char *dir, batch_done *done, void *arg,
		 struct fault *f);
void readers_close(struct readers *r); /* `r` may be NULL */
void readers_push(struct readers *r, struct chain *jobs);

#endif
