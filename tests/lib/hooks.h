/*
 * hooks - functions with which tests change a store or a spool from inside.
 */
#ifndef TESTS_LIB_HOOKS_H
#define TESTS_LIB_HOOKS_H

#include "storage/spool/spool.h"
#include "storage/store.h"

/* Makes the step number `after`, counted from now, fail once with `sqlite_result`. The
 * statements of a transaction itself, such as BEGIN and COMMIT, count as steps, too. If `after`
 * is 0, nothing fails. SQLITE_FULL, SQLITE_IOERR, SQLITE_NOMEM and SQLITE_INTERRUPT also roll
 * back the transaction. */
void store_fail(struct store *s, long after, int sqlite_result);
/* Sets the time of all later transactions. If `now` is 0, later transactions use the machine's
 * clock. */
void store_set_now(struct store *s, int64_t now);
/* Copies the state of `from` into `to`. Neither store may be in a transaction. */
int store_copy(struct store *to, struct store *from, struct fault *f);
/* From now on, the spool's step number `after` fails with `sqlite_result`. */
void spool_fail(struct spool *s, long after, int sqlite_result);

#endif
