#include "core/access/token.h"

#include <sha2.h>
#include <string.h>

#include "core/base/arena.h"
#include "sql.gen.h"

static void put_numbers(SHA2_CTX *c, const int64_t *numbers, size_t n)
{
	uint8_t row[8];

	for (size_t i = 0; i < n; i++) {
		for (int k = 0; k < 8; k++)
			row[k] = (uint8_t)((uint64_t)numbers[i] >> (8 * k));
		SHA256Update(c, row, sizeof(row));
	}
}

static void token_put_hex(SHA2_CTX *c, char out[TOKEN_SIZE])
{
	static const char hex[] = "0123456789abcdef";
	uint8_t digest[SHA256_DIGEST_LENGTH];

	SHA256Final(digest, c);
	for (int i = 0; i < 32; i++) {
		out[2 * i] = hex[digest[i] >> 4];
		out[2 * i + 1] = hex[digest[i] & 15];
	}
	out[64] = '\0';
}

/* The hashed text begins with the name of the token's kind and a NUL. Otherwise a length
 * extension of SHA-256 could make a door's token from an agent's token. */
static void token_of_kind(const char *kind, const uint8_t secret[32],
			  const int64_t *numbers, size_t n, char out[TOKEN_SIZE])
{
	SHA2_CTX c;

	SHA256Init(&c);
	SHA256Update(&c, (const uint8_t *)kind, *kind ? strlen(kind) + 1 : 0);
	SHA256Update(&c, secret, 32);
	put_numbers(&c, numbers, n);
	token_put_hex(&c, out);
}

void token_make(const uint8_t secret[32], int64_t agent, int64_t generation,
		char out[TOKEN_SIZE])
{
	token_of_kind("", secret, (const int64_t[]){ agent, generation }, 2, out);
}

void token_for_door(const uint8_t secret[32], int64_t agent, int64_t generation,
		    int64_t owner, int64_t owner_generation, char out[TOKEN_SIZE])
{
	token_of_kind("door", secret,
		      (const int64_t[]){ agent, generation, owner, owner_generation }, 4,
		      out);
}

void token_for_client(const uint8_t secret[32], int64_t row, int64_t made_at,
		      char out[TOKEN_SIZE])
{
	token_of_kind("client", secret, (const int64_t[]){ row, made_at }, 2, out);
}

void token_hash(const char *token, uint8_t out[TOKEN_HASH])
{
	SHA2_CTX c;

	SHA256Init(&c);
	SHA256Update(&c, (const uint8_t *)token, strlen(token));
	SHA256Final(out, &c);
}

bool token_equal(const void *a, const void *b, size_t n)
{
	const uint8_t *x = a, *y = b;
	uint8_t diff = 0;

	for (size_t i = 0; i < n; i++)
		diff |= x[i] ^ y[i];
	return diff == 0;
}

static bool secret_fits(const uint8_t secret[32], const struct agent_tokens_row *r)
{
	char token[TOKEN_SIZE];
	uint8_t hash[TOKEN_HASH];

	token_make(secret, r->id, r->generation, token);
	token_hash(token, hash);
	return r->token.size == TOKEN_HASH &&
	       token_equal(hash, r->token.data, TOKEN_HASH);
}

int secret_look(struct store *store, const uint8_t secret[32], struct secret_fit *out,
		struct fault *f)
{
	const struct sql_agent_tokens_in none = { 0 };
	struct agent_tokens_row row;
	struct arena a = { 0 };
	struct query q;

	*out = (struct secret_fit){ 0 };
	if (store_begin(store, false, f) < 0)
		return f->code;
	store_query(store, &q, sql_agent_tokens, &none);
	while (store_next(&q, &row, sizeof(row), &a, f) > 0) {
		out->tokens++;
		out->fit += secret_fits(secret, &row);
	}
	query_end(&q);
	store_rollback(store);
	arena_release(&a);
	return f->code;
}
