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
#include "core/host/edits.h"
#include "core/host/log.h"

struct scribe;

/* `edits`, borrowed, takes what somebody wrote into files of cards. */
int scribe_open(struct scribe **out, const struct home *home, struct log *log,
		struct edits *edits, struct fault *f);
/* The event up to which the search index has read the log; 0: not known yet. */
int64_t scribe_indexed_to(const struct scribe *s);
/* Shows what is committed, for a second or two, and ends.  NULL is fine. */
void scribe_close(struct scribe *s);

#endif
