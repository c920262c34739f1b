/*
 * mirror - the follower that keeps the vault's `teams/` equal to the rows.
 *
 * It reads the event log from its own cursor, `.cadre-cursor` in the vault's
 * root, and shows every task, card and team that changed.  The cursor moves
 * only when all files that it covers are on the disk, so after a crash at any
 * instant the next one finishes the work; no file is written when nothing
 * changed.  Without a cursor, with one of another incarnation, or behind the
 * oldest event, everything is shown anew, in slices whose place the cursor
 * keeps.  One process at a time mirrors: it holds a lock on `.cadre-mirror`.
 */
#ifndef CORE_MIRROR_MIRROR_H
#define CORE_MIRROR_MIRROR_H

#include "core/home/home.h"

struct mirror;

int mirror_open(struct mirror **out, const struct home *home, struct fault *f);
void mirror_close(struct mirror *m); /* NULL is fine */

/* Works for about budget_ms on `store` (best a read connection; in no
 * transaction).  *more: there is more to do at once.  A failure leaves the
 * cursor where it was: the next step tries again. */
int mirror_step(struct mirror *m, struct store *store, int64_t budget_ms, bool *more,
		struct fault *f);

/* In how many ms it wants another step although nothing happens: summaries
 * (INDEX.md, TEAM.md) are written at most four times a second, and another
 * process may be mirroring.  -1: not before the next event, or before what
 * mirror_watch() gave is readable. */
int64_t mirror_due(const struct mirror *m);

/* For a host: from now on the steps also look at all files, once and in small
 * turns, and whenever somebody takes one away.  What is missing or behind comes
 * back; what a person edited stays until its row changes.  Returns a descriptor
 * that is readable when a step should be taken, the mirror's, or -1. */
int mirror_watch(struct mirror *m);

/* For a process that changed the state without a host: mirrors for about
 * budget_ms unless another one does, who then sees this change; whoever holds
 * the mirror unlocks and then looks again, so that nothing is left. */
int mirror_catch_up(const struct home *home, struct store *store, int64_t budget_ms,
		    struct fault *f);

/* How many events that the mirror shows it has yet to read; -1 when it has
 * never run on this state, or everything is to be shown anew. */
int mirror_lag(const struct home *home, struct store *store, int64_t *events,
	       struct fault *f);

/* The number up to which the mirror has read the log of this incarnation: what
 * cleaning must not pass.  0 when it has not run. */
int64_t mirror_cursor(const struct home *home, const char *incarnation);

/* Compares every file with its rows.  Each difference is a line of `report`;
 * returns how many there are, or negative.  *edited (or NULL): how many of these
 * are a person's. */
int mirror_verify(const struct home *home, struct store *store, struct text *report,
		  int *edited, struct fault *f);

#endif
