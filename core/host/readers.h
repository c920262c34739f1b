/*
 * readers - a few threads that run reads on their own read connections, without waiting for a
 * writer.
 *
 * A reader runs job->read() with its connection, or the job's call if `read` is NULL. Calls of
 * one agent run one at a time, so that an agent with many long reads does not occupy all
 * readers.
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
