/*
 * edits - texts that somebody saved as files of cards, on their way from the mirror's thread to
 * the state and back.
 *
 * Each is written by the agent whose card it is, as vault.write does it.
 */
#ifndef CORE_HOST_EDITS_H
#define CORE_HOST_EDITS_H

#include <uv.h>

#include "core/mirror/mirror.h"

struct host;

/* The room opens before the mirror's thread does, and its end comes before that of the thread:
 * offers lie from then on. */
struct edits {
	uv_async_t offer;
	uv_mutex_t lock; /* of the lists */
	struct mirror_edit *offered, *written,
		*judged; /* `written`: a call is under way */
	bool closed;
};

/* On the mirror's thread: passes an edit on, which is the loop's then. */
void edits_offer(struct edits *e, struct mirror_edit *edit);
/* On the mirror's thread: the next one that was judged, the caller's to release, or NULL. */
struct mirror_edit *edits_judged(struct edits *e);
/* On the mirror's thread, when the thread ends: an edit that was not written, or NULL. */
struct mirror_edit *edits_take_back(struct edits *e);

#endif
