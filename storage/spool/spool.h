/*
 * spool - the assignments and results that a guest must not forget.
 *
 * The spool is a small SQLite file in the guest's state folder.  The spool records which
 * assignments the guest has received.  It holds the assignments that wait or were started, and
 * results until the host has stored them.  It also holds the variables of SetEnv.  Every change
 * is on the disk when the function returns (WAL, synchronous=FULL).
 *
 *     put -> waiting -> start -> started -> finish -> result -> ack -> gone
 *                                  |
 *                 the guest died   +-- open -> result, interrupted
 *
 * A message id is known from spool_put() on, so an assignment runs at most once.  The spool
 * belongs to a workspace.  A spool of another workspace is set aside.  Each spool has its own
 * identity, by which a host tells the spool from an earlier, lost spool.
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

/* The folder of a spool, and the workspace that must own the spool.  A spool that has no owner
 * yet is accepted too. */
struct spool_place {
	const char *dir;
	const char *workspace; /* owner that the spool must have; NULL: any owner */
	int64_t restores; /* how often the workspace was put back to a snapshot; -1: unknown */
};

/* Opens DIR/spool.db, or makes the file.  Started commands become interrupted results; `now` is
 * in ms since the epoch.  A spool of another workspace is renamed to `spool.db.WORKSPACE`.  A
 * spool from before a restore is emptied except for its variables, and gets a new identity.  A
 * newer or broken spool is refused, since its assignments could run twice.  Returns 0 or a
 * fault. */
int spool_open(struct spool **out, const struct spool_place *place, int64_t now,
	       struct fault *f);
void spool_close(struct spool *s); /* `s` may be NULL */

/* The id of the workspace that owns the spool, or "" while the spool has no owner.  The text is
 * valid as long as the spool. */
const char *spool_owner(const struct spool *s);
/* The spool's identity, which no earlier or later spool has.  A spool that was made before
 * spools had identities has its workspace's id as identity. */
const char *spool_identity(const struct spool *s);
/* How many commands the spool has started or called off since it was made.  An older copy of
 * the spool has a lower count. */
int64_t spool_seq(const struct spool *s);
/* Empties a spool that is not the spool which accepted the commands.  Deletes everything but
 * the variables, and gives the spool a new identity.  Returns 0 or a fault. */
int spool_renew(struct spool *s, struct fault *f);
/* Whether the file was removed from its folder, or replaced.  The functions below do not write
 * to such a file and return FAULT_CONFLICT. */
bool spool_is_lost(struct spool *s);
/* Makes the workspace the owner of a spool that has no owner.  Returns 0 or a fault. */
int spool_adopt(struct spool *s, const char *workspace, struct fault *f);

/* Whether the assignment was received before.  Returns 1 or 0; negative on failure. */
int spool_knows(struct spool *s, const char *message_id, struct fault *f);

/* Records an assignment, which waits from now on.  A known assignment changes nothing.  Returns
 * 0 or a fault, which is FAULT_EXHAUSTED if SPOOL_WAITING assignments wait already. */
int spool_put(struct spool *s, const char *message_id, const char *content, int64_t now,
	      struct fault *f);

/* Records that an assignment is called off.  If the assignment waits, it is deleted as
 * thoroughly as by spool_ack().  An assignment that was started is kept.  Returns 0 or a fault. */
int spool_drop(struct spool *s, const char *message_id, int64_t now, struct fault *f);

/* Reads the first waiting assignment.  Returns 1 with `a` filled in the arena, or 0 if no
 * assignment waits. */
int spool_next(struct spool *s, struct arena *arena, struct spool_assignment_row *a,
	       struct fault *f);

/* Records that an assignment is about to run.  Returns 0 or a fault. */
int spool_start(struct spool *s, const char *message_id, const char *task_id, int64_t now,
		struct fault *f);

/* Stores the result of an assignment that waits or was started.  A second result is ignored.
 * Returns 0 or a fault. */
int spool_finish(struct spool *s, const struct spool_result_row *r, int64_t now,
		 struct fault *f);

/* Reads the first result after `after`, or the result of message_id unless that is NULL.
 * Returns 1 with `r` filled in the arena, or 0 if there is no result. */
int spool_result(struct spool *s, int64_t after, const char *message_id,
		 struct arena *arena, struct spool_result_row *r, struct fault *f);

/* Deletes results that the host has stored.  Unknown ids are ignored.  Nothing of these results
 * or of their commands is left in the files, since a command may be redacted after its end. */
int spool_ack(struct spool *s, const char *const *ids, size_t n, struct fault *f);

/* Counts the commands and results in the spool.  Returns 0 or a fault code. */
int spool_count(struct spool *s, struct spool_counts_row *c, struct fault *f);

/* Sets a variable that all commands get. */
int spool_set_env(struct spool *s, const char *name, const char *value, struct fault *f);
/* Reads the first variable whose name comes after `after`.  Returns 1 with both texts filled in
 * the arena, or 0. */
int spool_env(struct spool *s, const char *after, struct arena *arena, const char **name,
	      const char **value, struct fault *f);

/* Makes several changes one change: spool_begin(), the changes, spool_end().  If `ok` is false,
 * spool_end() undoes the changes. */
int spool_begin(struct spool *s, struct fault *f);
int spool_end(struct spool *s, bool ok, struct fault *f);

#endif
