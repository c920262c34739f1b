/*
 * token - the secret text by which an agent proves who it is.
 *
 * A token is derived from the state's secret, the agent's row and the agent's generation. So a
 * restarted host can give the same token to a guest again. The row keeps only the token's
 * SHA-256. The agent's next generation gets another token.
 */
#ifndef CORE_ACCESS_TOKEN_H
#define CORE_ACCESS_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/store.h"

enum { TOKEN_SIZE = 65, TOKEN_HASH = 32 };

void token_make(const uint8_t secret[32], int64_t agent, int64_t generation,
		char out[TOKEN_SIZE]);
/* Makes the token by which `agent` proves itself at the door of `owner`, and at no other door. */
void token_for_door(const uint8_t secret[32], int64_t agent, int64_t generation,
		    int64_t owner, int64_t owner_generation, char out[TOKEN_SIZE]);
/* Makes the secret of a token for a client over HTTP. */
void token_for_client(const uint8_t secret[32], int64_t row, int64_t made_at,
		      char out[TOKEN_SIZE]);
void token_hash(const char *token, uint8_t out[TOKEN_HASH]);
/* Compares two values. The duration of the comparison does not depend on the place at which the
 * values differ. */
bool token_equal(const void *a, const void *b, size_t n);

/*
 * Checks whether a state's tokens were made from a given secret.
 *
 * The check needs only the state and the secret. A state has the hash of each agent's token,
 * and the token can be made again from secret, row and generation.
 */

struct secret_fit {
	int64_t tokens; /* number of checked tokens: at most those of the newest 1,000
			   living agents */
	int64_t fit; /* number of checked tokens that were made with the secret */
};

/* Counts how many of the state's newest tokens were made from `secret`. No transaction may be
 * open. */
int secret_look(struct store *store, const uint8_t secret[32], struct secret_fit *out,
		struct fault *f);

#endif
