/*
 * world - a private state in memory, a set clock, and calls from JSON to JSON.
 *
 * The world of transcripts and the simulation: no door, no file, no wall clock.
 */
#ifndef TESTS_LIB_WORLD_H
#define TESTS_LIB_WORLD_H

#include "core/call/call.h"
#include "tests/lib/notes.h"

struct world {
	struct store *store;
	struct settings settings;
	struct id_keys ids;
	int64_t now;
	uint64_t seed;
	int64_t keep_events;
	bool hosted;
	bool settles;
	struct fake_notes notes; /* the vault */
};

/* A call to make; `args` stays the caller's. */
struct asked {
	const struct op *op;
	json_t *args;
	struct identity identity;
	struct form form;
	int64_t made; /* of an earlier run of a call that waits */
	bool replayed;
	long fail_after; /* the arena gets no memory at this allocation */
};

/* Outcome of a call; answer_release() frees `reply`. */
struct answer {
	int rc;
	struct fault fault;
	json_t *reply; /* NULL after a fault */
	int64_t made;
	bool replayed;
	enum wake wait_on;
	int64_t wait_key;
	struct given given; /* messages and claim that a lost answer would lose */
	bool guest; /* a guest has to be asked first: the answer is still open */
};

/* An empty state in memory; aborts when there is none to be had. */
struct store *world_store(void);
void world_open(struct world *w); /* with one */
void world_close(struct world *w);

/* Makes a call in its own transaction on `store`; the answer is decoded again through
 * its own record, and one that does not pass is an `internal` fault. */
void world_ask(struct world *w, struct store *store, const struct asked *q,
	       struct answer *a);
void answer_release(struct answer *a);

/* A number for all rows of a state: equal states have equal numbers. */
uint64_t world_digest(struct store *store);
/* The same for the rows of all tables but one. */
uint64_t world_digest_without(struct store *store, const char *table);

/* Returns the integer of a query on the state's own connection (tests only). */
int64_t world_number(struct store *store, const char *sql);

#endif
