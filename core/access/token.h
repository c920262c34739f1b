/*
 * token - what proves that a caller is an agent.
 *
 * A token is derived from the state's secret, the agent's row and its
 * generation, so that a host can hand it to a guest again after a restart; the
 * row keeps only its SHA-256.  A next generation has another token.
 */
#ifndef CORE_ACCESS_TOKEN_H
#define CORE_ACCESS_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TOKEN_SIZE = 65, TOKEN_HASH = 32 };

void token_make(const uint8_t secret[32], int64_t agent, int64_t generation,
		char out[TOKEN_SIZE]);
/* What proves `agent` at the door of `owner`, and nowhere else. */
void token_for_door(const uint8_t secret[32], int64_t agent, int64_t generation,
		    int64_t owner, int64_t owner_generation, char out[TOKEN_SIZE]);
void token_hash(const char *token, uint8_t out[TOKEN_HASH]);
/* In time that does not depend on where they differ. */
bool token_equal(const void *a, const void *b, size_t n);

#endif
