/*
 * secret - whether a secret is the one that a state's tokens are made with.
 *
 * Nothing is kept for that: a state has the hash of each agent's token, and the token
 * can be made again from secret, row and generation.
 */
#ifndef CORE_ACCESS_SECRET_H
#define CORE_ACCESS_SECRET_H

#include <stdint.h>

#include "storage/store.h"

struct secret_fit {
	int64_t tokens; /* of living agents, the newest 1,000 */
	int64_t fit; /* of these, made with the secret */
};

/* Outside a transaction. */
int secret_look(struct store *store, const uint8_t secret[32], struct secret_fit *out,
		struct fault *f);

#endif
