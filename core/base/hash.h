/*
 * hash - FNV-1a of 64 bits, for hash tables, and for rows and locks that store a hash.
 *
 * Anybody can construct two texts with the same hash: SHA-256 is used where a collision would
 * do harm. Databases hold hashes of this function, so the function must not change.
 */
#ifndef CORE_BASE_HASH_H
#define CORE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HASH_EMPTY UINT64_C(14695981039346656037) /* the hash of an empty text */
#define HASH_PRIME UINT64_C(1099511628211)

/* Continues a hash. `h` is the hash of the earlier bytes. Returns the hash of the earlier bytes
 * and `data` together. */
static inline uint64_t hash_more(uint64_t h, const void *data, size_t n)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * HASH_PRIME;
	return h;
}

static inline uint64_t hash_text(const char *s)
{
	return hash_more(HASH_EMPTY, s, strlen(s));
}

#endif
