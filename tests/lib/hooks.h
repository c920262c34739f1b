/*
 * hooks - what tests do to a store or a spool from inside.
 */
#ifndef TESTS_LIB_HOOKS_H
#define TESTS_LIB_HOOKS_H

#include "storage/spool/spool.h"
#include "storage/store.h"

/* The n-th step or commit from now fails with this SQLite result; 0 ends it.  FULL, IOERR, NOMEM and
 * INTERRUPT drop the transaction too. */
void store_fail(struct store *s, long after, int sqlite_result);
/* `now` of the transactions from here on; 0: the machine's. */
void store_set_now(struct store *s, int64_t now);
/* Makes the state of `to` that of `from`; neither is in a transaction. */
int store_copy(struct store *to, struct store *from, struct fault *f);
/* The n-th step from now fails with this SQLite result. */
void spool_fail(struct spool *s, long after, int sqlite_result);

#endif
