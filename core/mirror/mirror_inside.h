/*
 * mirror_inside - the mirror's own state, shared by its turns and their steps.
 */
#ifndef CORE_MIRROR_MIRROR_INSIDE_H
#define CORE_MIRROR_MIRROR_INSIDE_H

#include "core/mirror/mirror_cursor.h"
#include "core/mirror/mirror_mail.h"
#include "core/mirror/mirror_show.h"

enum { SUMMARY_MS = 250 }; /* between two writes of the same INDEX.md */

struct mirror {
	struct show show;
	struct mail mail;
	int lock; /* descriptor */
	bool locked, known; /* holds the lock; `at` was read from the file */
	bool direct; /* of a process that ends soon: nothing is put off */
	int64_t batch; /* rows or relevant events in one slice */
	struct mirror_cursor at, saved; /* shown so far; in the file */
	struct ids stale; /* teams whose summary is behind ... */
	int64_t stale_after; /* ... what the log held up to this event */
	int64_t summaries_at, saved_at; /* monotonic ms of the last writes */
	struct losses losses; /* of a host; its fd is -1 in other processes */
	bool watching;
	struct mirror_cursor check; /* the look at all files; at rest, or its place */
	int64_t check_at, lost_at; /* monotonic ms: its next slice; 0 or when */
};

/* Writes the cursor.  `worth`: files were written, so that reading on from the
 * old place would have them compared again. */
int mirror_save(struct mirror *m, bool worth);

/* One slice of showing everything from `at` on, which moves to where it ended:
 * behind the last one it is at STAGE_FOLLOW. */
int slice_pass(struct mirror *m, struct mirror_cursor *at);

/* One slice of showing everything; the cursor moves to where it ended.  1: there
 * is more to do. */
int slice_everything(struct mirror *m);

/* One slice of the log: 1 if there is more of it, 0, negative. */
int slice_log(struct mirror *m, int64_t newest);

/* Stages the summaries that are behind. */
int slice_summaries(struct mirror *m);

/* Looks at some files, if it is time, and brings back what somebody has taken
 * away.  What a person edited stays as it is. */
int check_some(struct mirror *m);

/* In how many ms it wants to; -1: not before somebody takes something away. */
int64_t check_due(const struct mirror *m);

#endif
