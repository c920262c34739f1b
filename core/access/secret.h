/*
 * secret - checks that a secret is the one that a state's tokens were made with.
 *
 * No further data is needed for that: a state has the hash of each agent's token, and
 * the token can be made again from secret, row and generation.
 */
#ifndef CORE_ACCESS_SECRET_H
#define CORE_ACCESS_SECRET_H

#include <stdint.h>

#include "storage/store.h"

struct secret_fit {
	int64_t tokens; /* how many tokens were looked at: those of the newest 1,000
			   living agents */
	int64_t fit; /* how many of these were made with the secret */
};

/* Counts the tokens of a state that fit `secret`; outside a transaction. */
int secret_look(struct store *store, const uint8_t secret[32], struct secret_fit *out,
		struct fault *f);

#endif
