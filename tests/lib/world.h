/*
 * world - a private state in memory, a clock that the test sets, and calls from JSON to JSON.
 *
 * The transcripts and the simulation use this world. A world has no door, no file and no real
 * clock.
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

/* A call to make. The caller keeps `args`. */
struct asked {
	const struct op *op;
	json_t *args;
	struct identity identity;
	struct form form;
	int64_t made; /* `made` from the answer to an earlier run of this call, if the
			 call waits */
	bool replayed;
	long fail_after; /* the arena gets no memory at this allocation */
};

/* Result of a call; answer_release() frees `reply`. */
struct answer {
	int rc;
	struct fault fault;
	json_t *reply; /* NULL after a fault */
	int64_t made;
	bool replayed;
	enum wake wait_on;
	int64_t wait_key;
	struct given given; /* messages and claim to give back if the answer is lost */
	bool guest; /* the host must ask a guest first, so there is no answer yet */
};

/* Makes an empty state in memory, and aborts if that fails. */
struct store *world_store(void);
void world_open(struct world *w); /* makes an empty state */
void world_close(struct world *w);

/* Makes a call in its own transaction on `store`. The answer is encoded as JSON, and the JSON
 * is decoded as a check. If decoding fails, the result is an `internal` fault. */
void world_ask(struct world *w, struct store *store, const struct asked *q,
	       struct answer *a);
void answer_release(struct answer *a);

/* Returns a checksum of all rows of a state. Equal states have equal checksums. */
uint64_t world_digest(struct store *store);
/* Returns a checksum of the rows of all tables except `table`. */
uint64_t world_digest_without(struct store *store, const char *table);

/* Runs a query on the store's own connection, and returns the integer in the first row. */
int64_t world_number(struct store *store, const char *sql);

#endif
