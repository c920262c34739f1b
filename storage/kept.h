/*
 * kept - rows that a writer need not look up for every call.
 *
 * Each call asks for the caller's row and the lead of his team, which hardly ever
 * change.  The row of a statement marked `-- kept:` is kept with its parameters, by the
 * connection that writes, as long as nothing that the statement reads can have changed:
 * sqlgen finds all statements that change such a column, and each of these forgets the
 * rows of the statements that read it; a rollback, and a change of the file by another
 * connection, forget all rows.  Only a row that was found is kept.
 *
 * A hash leads to two places, so that two rows with the same one do not push each
 * other out call after call; of three the oldest is dropped.
 */
#ifndef STORAGE_KEPT_H
#define STORAGE_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/stmt.h"

/* Places enough for some hundred agents at work. */
enum { KEPT_PLACES = 2048, KEPT_KEY = 160 };

struct kept {
	uint64_t age[KEPT_STATEMENTS]; /* current age of each statement; its rows of
					  another age are forgotten.  No statement
					  has the number 0 */
	uint32_t version; /* version of the file when the rows were read */
	struct kept_row *places[KEPT_PLACES];
};

/* Fills `row` and copies its texts into the arena: false if it is not kept. */
bool kept_find(struct kept *k, enum sql id, const void *in, void *row, struct arena *a);
void kept_add(struct kept *k, enum sql id, const void *in, const void *row);

/* Forgets all rows. */
void kept_forget(struct kept *k);
/* Changes whenever all rows are forgotten. */
uint64_t kept_age(const struct kept *k);
/* Forgets the rows of the kept statements in this bit set. */
void kept_invalidate(struct kept *k, unsigned statements);
/* Forgets all rows unless the file still has this version. */
void kept_check(struct kept *k, uint32_t version);
void kept_release(struct kept *k);

#endif
