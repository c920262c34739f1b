/*
 * scribe - the thread of a host that keeps the vault's mirror and the index.
 *
 * It sleeps until the bell rings, here or in another process, and then works
 * on a read connection of its own, at most so many times a second.  A write
 * to the mirror that fails is tried again later: a full disk there stops no caller.
 */
#ifndef CORE_HOST_SCRIBE_H
#define CORE_HOST_SCRIBE_H

#include "core/home/home.h"
#include "core/host/log.h"

struct scribe;

/* The event up to which the search index has read the log; 0: not known yet. */
int64_t scribe_indexed_to(const struct scribe *s);

#endif
