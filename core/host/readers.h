/*
 * readers - a few threads with read connections, which never wait for a
 * writer.
 *
 * A job with `read` runs that with the connection, else its call runs.  One agent's calls run
 * one at a time, so that nobody waits for all the long reads of another.
 */
#ifndef CORE_HOST_READERS_H
#define CORE_HOST_READERS_H

#include "core/host/writer.h"

enum { READERS = 2 };

struct readers;

int readers_open(struct readers **out, const char *dir, batch_done *done, void *arg,
		 struct fault *f);
void readers_close(struct readers *r); /* NULL is fine */
void readers_push(struct readers *r, struct chain *jobs);

#endif
