/*
 * worker - a client of the crash proof, and the functions that the client's acts share.
 */
#ifndef TESTS_CRASH_WORKER_H
#define TESTS_CRASH_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/client/client.h"
#include "tests/crash/journal.h"
#include "tests/lib/dice.h"

enum {
	HELD_MOST = 64,
	CLAIMS_MOST = 8,
	PAST_MOST = 64,
	OPEN_MOST = 1000,
	TRIES = 200,
	SEEN_MOST = 8,
	TEAMS_MOST = 6
};

struct past {
	char key[48];
	const struct op *op;
	json_t *args;
};

struct worker {
	const char *base, *name;
	bool runs;
	struct dice dice;
	struct journal journal;
	struct home home;
	struct client *client;
	char held[HELD_MOST][40]; /* messages to acknowledge */
	int n_held;
	struct claim {
		char task[16];
		int64_t epoch;
	} claims[CLAIMS_MOST];
	int n_claims;
	struct past past[PAST_MOST]; /* writes that were acknowledged */
	int n_past;
	struct past open[OPEN_MOST]; /* calls without an answer when this process began */
	int n_open;
	char seen[SEEN_MOST][48]; /* keys of the last receives that were answered */
	int n_seen;
	char teams[TEAMS_MOST][48]; /* teams that this worker made and did not end */
	int n_teams;
	char session[80]; /* session of this process; acknowledges no earlier process's
			     messages */
};

/* Makes a new key, which also serves as the name of the object that the call makes. */
const char *new_key(struct worker *w, char key[48]);
/* Makes a write under the new key, and takes over `args`. Returns the answer, or NULL if the
 * call failed. */
json_t *attempt(struct worker *w, const char *name, json_t *args, const char *key);

/* --- worker_team.c: teams below the common team --------------------------------------- */

void act_found(struct worker *w);
void act_spend(struct worker *w);
void act_end_team(struct worker *w);
/* Updates the list of the worker's teams after an answered call. */
void worker_team_answered(struct worker *w, const struct op *op, const json_t *args);

#endif
