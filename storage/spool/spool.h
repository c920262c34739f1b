/*
 * spool - the assignments and results that a guest must not forget.
 *
 * A small SQLite file in the guest's state folder.  It holds which assignments the guest has
 * received, those that wait or were started, their results until the host has stored
 * them, and SetEnv's variables.  Every change is on the disk when the function returns (WAL,
 * synchronous=FULL).
 *
 *     put -> waiting -> start -> started -> finish -> result -> ack -> gone
 *                                  |
 *                 the guest died   +-- open -> result, interrupted
 *
 * A message id is known from put on, so an assignment runs at most once.  The spool
 * belongs to a workspace: one of another workspace is set aside.  It has an identity of
 * its own, by which a host tells it from an earlier, lost one.
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

/* The folder of a spool, and the owner that it must have. */
struct spool_place {
	const char *dir;
	const char *workspace; /* workspace that it must belong to, or to none yet;
				  NULL: any */
	int64_t restores; /* how often the workspace was put back; -1: not known */
};

/* Opens DIR/spool.db, or makes it.  Started commands become interrupted results; `now` is
 * ms since the epoch.  A spool of another workspace is renamed `spool.db.WORKSPACE`; one
 * from before a restore is emptied but for its variables and gets a new identity; a newer
 * or broken one is refused, since its assignments could run twice.  0 or a fault. */
int spool_open(struct spool **out, const struct spool_place *place, int64_t now,
	       struct fault *f);
void spool_close(struct spool *s); /* NULL is fine */

/* The id of the workspace that owns the spool; "" while it has no owner.  Valid as long
 * as the spool. */
const char *spool_owner(const struct spool *s);
/* The spool's identity, which no other spool has, before or after.  A spool that was made
 * before spools had identities has its workspace's id. */
const char *spool_identity(const struct spool *s);
/* How many commands the spool has started or called off since it was made: an older copy
 * of it has a lower count. */
int64_t spool_seq(const struct spool *s);
/* Empties a spool that is not the one that accepted the commands: everything but its
 * variables is deleted, and it gets a new identity.  0 or a fault. */
int spool_renew(struct spool *s, struct fault *f);
/* Whether the file was removed from its folder, or replaced.  The functions below do not
 * write to such a file: FAULT_CONFLICT. */
bool spool_is_lost(struct spool *s);
/* Makes the workspace the owner of a spool that has none.  0 or a fault. */
int spool_adopt(struct spool *s, const char *workspace, struct fault *f);

/* Whether the assignment was received before: 1 or 0; negative on failure. */
int spool_knows(struct spool *s, const char *message_id, struct fault *f);

/* Records an assignment that waits from now on; a known one changes nothing.  0, or a
 * fault, FAULT_EXHAUSTED when SPOOL_WAITING of them wait. */
int spool_put(struct spool *s, const char *message_id, const char *content, int64_t now,
	      struct fault *f);

/* Records that an assignment is called off, and deletes it if it waits, as spool_ack() does;
 * one that was started stays.  0 or a fault. */
int spool_drop(struct spool *s, const char *message_id, int64_t now, struct fault *f);

/* Reads the first waiting assignment: 1 with `a` filled in the arena, 0 if none waits. */
int spool_next(struct spool *s, struct arena *arena, struct spool_assignment_row *a,
	       struct fault *f);

/* Records that an assignment is about to run.  0 or a fault. */
int spool_start(struct spool *s, const char *message_id, const char *task_id, int64_t now,
		struct fault *f);

/* Stores the result of an assignment, waiting or started; a second result is ignored.  0
 * or a fault. */
int spool_finish(struct spool *s, const struct spool_result_row *r, int64_t now,
		 struct fault *f);

/* Reads the first result behind `after`, or that of message_id (unless NULL): 1 with `r`
 * filled in the arena, 0 if there is none. */
int spool_result(struct spool *s, int64_t after, const char *message_id,
		 struct arena *arena, struct spool_result_row *r, struct fault *f);

/* Deletes results that the host has stored; unknown ids are ignored.  Nothing of them or of
 * their commands is left in the files then, since a command may be redacted once it has
 * ended. */
int spool_ack(struct spool *s, const char *const *ids, size_t n, struct fault *f);

/* Counts the commands and results in the spool: 0 or a fault code. */
int spool_count(struct spool *s, struct spool_counts_row *c, struct fault *f);

/* Sets a variable that all commands get. */
int spool_set_env(struct spool *s, const char *name, const char *value, struct fault *f);
/* Reads the first variable behind the name `after`: 1 with both filled in the arena, or
 * 0. */
int spool_env(struct spool *s, const char *after, struct arena *arena, const char **name,
	      const char **value, struct fault *f);

/* Makes several changes one: begin, the changes, end.  `ok` false undoes them. */
int spool_begin(struct spool *s, struct fault *f);
int spool_end(struct spool *s, bool ok, struct fault *f);

#endif
