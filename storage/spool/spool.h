/*
 * spool - what a guest must not forget.
 *
 * A small SQLite file in the guest's state folder: which messages it has had,
 * assignments that wait or were started, their results until the host has
 * stored them, and SetEnv's variables.  Every change is on the disk when the
 * function returns (WAL, synchronous=FULL).
 *
 *     put -> waiting -> start -> started -> finish -> result -> ack -> gone
 *                                  |
 *                 the guest died   +-- open -> result, interrupted
 *
 * A message id is known from put on, so an assignment runs at most once.  The
 * spool belongs to a workspace: one of another workspace is set aside.  It has an
 * identity of its own, by which a host tells it from one that is gone.
 */
#ifndef STORAGE_SPOOL_SPOOL_H
#define STORAGE_SPOOL_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/fault.h"
#include "spool_sql.gen.h" /* struct spool_assignment_row, _result_row, _counts_row */

enum { SPOOL_WAITING = 1000 /* assignments that may wait */ };

struct spool;

/* Where a spool is, and what it has to be. */
struct spool_place {
	const char *dir;
	const char *workspace; /* NULL: whosever it is, or nobody's yet */
	int64_t restores; /* how often the workspace was put back; -1: not known */
};

/* Opens DIR/spool.db, making it when there is none.  What was started becomes an
 * interrupted result; `now` is ms since the epoch.  A spool of another workspace is
 * renamed `spool.db.WORKSPACE`; one of the time before a restore is emptied but for
 * its variables and gets a new identity; a newer or broken one is refused, since its
 * assignments could run twice. */
int spool_open(struct spool **out, const struct spool_place *place, int64_t now,
	       struct fault *f);
void spool_close(struct spool *s); /* NULL is fine */

/* Whose it is; "" while it is nobody's.  Valid as long as the spool. */
const char *spool_owner(const struct spool *s);
/* Which spool this is: no other has the same, before or after.  One that was made
 * before spools had identities has its workspace's id. */
const char *spool_identity(const struct spool *s);
/* How many commands it has let begin or called off since it was made: a copy of an
 * earlier time knows of fewer. */
int64_t spool_seq(const struct spool *s);
/* Empties a spool that is not the one that accepted: all but its variables is forgotten,
 * and it gets a new identity. */
int spool_renew(struct spool *s, struct fault *f);
/* Whether the file is no longer in its folder: removed, or another in its place.
 * Nothing is written to such a one; FAULT_CONFLICT says so. */
bool spool_is_lost(struct spool *s);
/* It was nobody's and is this workspace's from now on. */
int spool_adopt(struct spool *s, const char *workspace, struct fault *f);

/* Whether this message was had before; negative on failure. */
int spool_knows(struct spool *s, const char *message_id, struct fault *f);

/* A message that needs nothing but to be known. */
int spool_note(struct spool *s, const char *message_id, int64_t now, struct fault *f);

/* An assignment that waits from now on; one that is known changes nothing.
 * FAULT_EXHAUSTED when SPOOL_WAITING of them wait. */
int spool_put(struct spool *s, const char *message_id, const char *content, int64_t now,
	      struct fault *f);

/* It is called off: known, and if it waits, gone.  What was started stays. */
int spool_drop(struct spool *s, const char *message_id, int64_t now, struct fault *f);

/* The first that waits: 1 with `a` filled in the arena, 0 if none does. */
int spool_next(struct spool *s, struct arena *arena, struct spool_assignment_row *a,
	       struct fault *f);

/* It is about to run. */
int spool_start(struct spool *s, const char *message_id, const char *task_id, int64_t now,
		struct fault *f);

/* Its result, waiting or started; the first one stays. */
int spool_finish(struct spool *s, const struct spool_result_row *r, int64_t now,
		 struct fault *f);

/* The first result behind `after` (or, with message_id, that one): 1 with `r`
 * filled in the arena, 0 if there is none. */
int spool_result(struct spool *s, int64_t after, const char *message_id,
		 struct arena *arena, struct spool_result_row *r, struct fault *f);

/* The host has stored these; unknown ones are fine. */
int spool_ack(struct spool *s, const char *const *ids, size_t n, struct fault *f);

int spool_count(struct spool *s, struct spool_counts_row *c, struct fault *f);

/* Variables that all commands get. */
int spool_set_env(struct spool *s, const char *name, const char *value, struct fault *f);
/* The n-th variable by name: 1 with both filled in the arena, or 0. */
int spool_env(struct spool *s, const char *after, struct arena *arena, const char **name,
	      const char **value, struct fault *f);

/* Several changes as one: begin, the changes, end.  `ok` false undoes them. */
int spool_begin(struct spool *s, struct fault *f);
int spool_end(struct spool *s, bool ok, struct fault *f);

/* Tests: the n-th step from now fails with this SQLite result. */
void spool_fail(struct spool *s, long after, int sqlite_result);

#endif
