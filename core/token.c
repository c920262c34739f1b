#include "core/token.h"

#include <sha2.h>
#include <string.h>

void token_make(const uint8_t secret[32], int64_t agent, int64_t generation,
		char out[TOKEN_SIZE])
{
	static const char hex[] = "0123456789abcdef";
	uint8_t digest[SHA256_DIGEST_LENGTH], row[16];
	SHA2_CTX c;

	for (int i = 0; i < 8; i++) {
		row[i] = (uint8_t)((uint64_t)agent >> (8 * i));
		row[8 + i] = (uint8_t)((uint64_t)generation >> (8 * i));
	}
	SHA256Init(&c);
	SHA256Update(&c, secret, 32);
	SHA256Update(&c, row, sizeof(row));
	SHA256Final(digest, &c);
	for (int i = 0; i < 32; i++) {
		out[2 * i] = hex[digest[i] >> 4];
		out[2 * i + 1] = hex[digest[i] & 15];
	}
	out[64] = '\0';
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
