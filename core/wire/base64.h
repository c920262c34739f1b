/*
 * base64 - writes bytes as text, and reads the bytes back (RFC 4648, standard alphabet,
 * padded).
 */
#ifndef CORE_WIRE_BASE64_H
#define CORE_WIRE_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The number of characters that encode `n` bytes, without the NUL. */
size_t base64_size(size_t n);

/* Writes base64_size(n) characters and a NUL. */
void base64_encode(char *out, const void *data, size_t n);

/* The number of bytes that a text of `n` characters encodes. The function computes the number
 * from the text's length and padding. Returns -1 if no base64 text has this length. The
 * characters are not checked. */
ssize_t base64_bytes(const char *s, size_t n);

/* Whether base64_decode() would accept the text. */
bool base64_is(const char *s, size_t n);

/* Decodes the `n` characters of `s` into `out`, which has room for n / 4 * 3 bytes and may be
 * `s` itself. Returns the number of bytes, or -1 when the text is not base64. */
ssize_t base64_decode(void *out, const char *s, size_t n);

#endif
