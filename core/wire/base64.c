#include "core/wire/base64.h"

#include <stdint.h>

/* These functions convert files of up to a gigabyte. To be fast, the loops below have no branch
 * that depends on the bytes. */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			     "abcdefghijklmnopqrstuvwxyz0123456789+/";

size_t base64_size(size_t n)
{
	return (n + 2) / 3 * 4;
}

static void encode_three(char *out, uint32_t v)
{
	out[0] = digits[v >> 18];
	out[1] = digits[v >> 12 & 63];
	out[2] = digits[v >> 6 & 63];
	out[3] = digits[v & 63];
}

ssize_t base64_bytes(const char *s, size_t n)
{
	size_t pads = 0;

	if (n % 4)
		return -1;
	while (pads < 2 && pads < n && s[n - 1 - pads] == '=')
		pads++;
	return (ssize_t)(n / 4 * 3 - pads);
}

void base64_encode(char *out, const void *data, size_t n)
{
	const unsigned char *p = data;

	for (; n >= 3; p += 3, n -= 3, out += 4)
		encode_three(out, (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2]);
	if (n > 0) {
		encode_three(out,
			     (uint32_t)p[0] << 16 | (n > 1 ? (uint32_t)p[1] << 8 : 0));
		out[3] = '=';
		if (n == 1)
			out[2] = '=';
		out += 4;
	}
	*out = '\0';
}

/* Each digit's value plus 1, so that 0 means "no digit". */
static const unsigned char codes[256] = {
	['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,
	['G'] = 7,  ['H'] = 8,  ['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12,
	['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16, ['Q'] = 17, ['R'] = 18,
	['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
	['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30,
	['e'] = 31, ['f'] = 32, ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36,
	['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40, ['o'] = 41, ['p'] = 42,
	['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
	['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54,
	['2'] = 55, ['3'] = 56, ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60,
	['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64
};

enum { BAD = ~63 };

/* Returns the three bytes that four digits encode. A character that is not a digit sets bits in
 * `*bad`. */
static uint32_t decode_four(const unsigned char *p, unsigned *bad)
{
	unsigned a = codes[p[0]] - 1u, b = codes[p[1]] - 1u, c = codes[p[2]] - 1u,
		 d = codes[p[3]] - 1u;

	*bad |= a | b | c | d;
	return a << 18 | b << 12 | c << 6 | d;
}

/* Decodes the last four characters, of which some may be padding. Returns the number of decoded
 * bytes, or -1 if the characters are not base64. */
static int decode_last(unsigned char *to, const unsigned char *p)
{
	size_t pad = p[3] != '=' ? 0 : p[2] != '=' ? 1 : 2;
	const unsigned char four[4] = { p[0], p[1], pad > 1 ? 'A' : p[2],
					pad > 0 ? 'A' : p[3] };
	unsigned bad = 0;
	uint32_t v = decode_four(four, &bad);

	to[0] = (unsigned char)(v >> 16);
	if (pad < 2)
		to[1] = (unsigned char)(v >> 8);
	if (pad < 1)
		to[2] = (unsigned char)v;
	return bad & (unsigned)BAD ? -1 : 3 - (int)pad;
}

ssize_t base64_decode(void *out, const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;
	unsigned char *to = out;
	unsigned bad = 0;
	int last;

	if (n % 4)
		return -1;
	if (n == 0)
		return 0;
	for (; n > 4; p += 4, n -= 4, to += 3) {
		uint32_t v = decode_four(p, &bad);

		to[0] = (unsigned char)(v >> 16);
		to[1] = (unsigned char)(v >> 8);
		to[2] = (unsigned char)v;
	}
	last = decode_last(to, p);
	return bad & (unsigned)BAD || last < 0 ? -1 : to + last - (unsigned char *)out;
}

bool base64_is(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;
	unsigned char last[3];
	unsigned bad = 0;

	if (n % 4)
		return false;
	for (; n > 4; p += 4, n -= 4)
		decode_four(p, &bad);
	return !(bad & (unsigned)BAD) && (n == 0 || decode_last(last, p) >= 0);
}
