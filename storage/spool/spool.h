/*
 * spool - stores the assignments and results that a guest must not forget.
 *
 * The spool is a small SQLite file in the guest's state folder. The spool records which
 * assignments the guest has received. The spool contains assignments that wait or were started,
 * and each result until the host has stored the result. The spool also contains the variables
 * of SetEnv. Every change is on the disk when the function returns (WAL, synchronous=FULL).
 *
 *     put -> waiting -> start -> started -> finish -> result -> ack -> gone
 *                                  |
 *                 the guest died   +-- open -> result, interrupted
 *
 * spool_put() stores the message id, so an assignment runs at most once. The spool belongs to a
 * workspace. If the folder has a spool of another workspace, the file is renamed. Each spool
 * has a different identity, so a host can tell the spool from an earlier, lost spool.
 */
#ifndef STORAGE_SPOOL_SPOOL_H
#define STORAGE_SPOOL_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/fault.h"
#include "spool_sql.gen.h" /* struct spool_assignment_row, _result_row, _counts_row */

enum { SPOOL_WAITING = 1000 /* the most waiting assignments */ };

struct spool;

/* The folder of a spool, and the workspace that must own the spool. A spool without an owner is
 * accepted, too. */
struct spool_place {
	const char *dir;
	const char *workspace; /* owner that the spool must have; NULL for any owner */
	int64_t restores; /* number of the workspace's restores, or -1 if unknown */
};

/* Opens DIR/spool.db, or makes the file. Gives each started command an interrupted result.
 * `now` is in ms since 1970. A spool of another workspace is renamed to `spool.db.WORKSPACE`.
 * If the workspace was restored after the spool was made, the spool loses everything but the
 * variables, and gets a new identity. A broken spool, or a spool of a newer version, is
 * refused. With a new spool in its place, assignments could run twice. Returns 0 or a fault. */
int spool_open(struct spool **out, const struct spool_place *place, int64_t now,
	       struct fault *f);
void spool_close(struct spool *s); /* `s` may be NULL */

/* The id of the workspace that owns the spool, or "" while the spool has no owner. The text is
 * valid until spool_close() or a change of the owner. */
const char *spool_owner(const struct spool *s);
/* The spool's identity, which no earlier or later spool has.  A spool that was made before
 * spools had identities has its workspace's id as identity. */
const char *spool_identity(const struct spool *s);
/* The number of commands that were started or called off since the spool was made. An older
 * copy of the spool has a lower count. */
int64_t spool_seq(const struct spool *s);
/* Deletes everything in the spool but the variables, and gives the spool a new identity. The
 * guest calls this function if the host knows another spool, or a newer state of this spool.
 * Returns 0 or a fault. */
int spool_renew(struct spool *s, struct fault *f);
/* Whether the spool's file was removed from the folder, or replaced. If the file was removed or
 * replaced, the functions below do not write and return FAULT_CONFLICT. */
bool spool_is_lost(struct spool *s);
/* Makes the workspace the owner of a spool that has no owner.  Returns 0 or a fault. */
int spool_adopt(struct spool *s, const char *workspace, struct fault *f);

/* Whether the assignment was received before. Returns 1 if the spool knows the assignment, 0 if
 * not, or a negative fault code. */
int spool_knows(struct spool *s, const char *message_id, struct fault *f);

/* Stores a new assignment, which then waits. If the assignment is known, changes nothing.
 * Returns 0 or a fault, which is FAULT_EXHAUSTED if SPOOL_WAITING assignments wait already. */
int spool_put(struct spool *s, const char *message_id, const char *content, int64_t now,
	      struct fault *f);

/* Stores that an assignment is called off. Deletes a waiting assignment, and like spool_ack()
 * leaves no part of the text in the files. An assignment that was started is kept. Returns 0 or
 * a fault. */
int spool_drop(struct spool *s, const char *message_id, int64_t now, struct fault *f);

/* Reads the first waiting assignment. Returns 1 with `a` filled, 0 if no assignment waits, or a
 * negative fault code. */
int spool_next(struct spool *s, struct arena *arena, struct spool_assignment_row *a,
	       struct fault *f);

/* Stores that an assignment is about to run. Returns 0 or a fault. */
int spool_start(struct spool *s, const char *message_id, const char *task_id, int64_t now,
		struct fault *f);

/* Stores the result of an assignment that waits or was started.  A second result is ignored.
 * Returns 0 or a fault. */
int spool_finish(struct spool *s, const struct spool_result_row *r, int64_t now,
		 struct fault *f);

/* Reads the result of the assignment message_id. If message_id is NULL, reads the first result
 * after the number `after`. Returns 1 with `r` filled, 0 if there is no result, or a negative
 * fault code. */
int spool_result(struct spool *s, int64_t after, const char *message_id,
		 struct arena *arena, struct spool_result_row *r, struct fault *f);

/* Deletes results that the host has stored. Unknown ids are ignored. No text of these results
 * or of their commands stays in the files, since a command may be redacted after the command's
 * end. */
int spool_ack(struct spool *s, const char *const *ids, size_t n, struct fault *f);

/* Counts the commands and results in the spool.  Returns 0 or a fault code. */
int spool_count(struct spool *s, struct spool_counts_row *c, struct fault *f);

/* Sets a variable that all commands get. */
int spool_set_env(struct spool *s, const char *name, const char *value, struct fault *f);
/* Reads the first variable whose name sorts after `after`. Returns 1 with name and value in the
 * arena, 0 if there is no such variable, or a negative fault code. */
int spool_env(struct spool *s, const char *after, struct arena *arena, const char **name,
	      const char **value, struct fault *f);

/* All changes between spool_begin() and spool_end() are committed together. If `ok` is false,
 * spool_end() undoes the changes. */
int spool_begin(struct spool *s, struct fault *f);
int spool_end(struct spool *s, bool ok, struct fault *f);

#endif
