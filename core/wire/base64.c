#include "core/wire/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			     "abcdefghijklmnopqrstuvwxyz0123456789+/";

size_t base64_size(size_t n)
{
	return (n + 2) / 3 * 4;
}

void base64_encode(char *out, const void *data, size_t n)
{
	const unsigned char *p = data;

	for (; n > 0; p += 3, n -= n < 3 ? n : 3) {
		unsigned long v = (unsigned long)p[0] << 16;

		if (n > 1)
			v |= (unsigned long)p[1] << 8;
		if (n > 2)
			v |= p[2];
		*out++ = digits[v >> 18];
		*out++ = digits[v >> 12 & 63];
		*out++ = n > 1 ? digits[v >> 6 & 63] : '=';
		*out++ = n > 2 ? digits[v & 63] : '=';
	}
	*out = '\0';
}

static int value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

ssize_t base64_decode(void *out, const char *s, size_t n)
{
	unsigned char *to = out;
	unsigned long v = 0;
	size_t pad = 0;

	if (n % 4)
		return -1;
	if (n > 0 && s[n - 1] == '=')
		pad = s[n - 2] == '=' ? 2 : 1;
	for (size_t i = 0; i < n; i++) {
		int d = i < n - pad ? value(s[i]) : 0;

		if (d < 0)
			return -1;
		v = v << 6 | (unsigned long)d;
		if (i % 4 < 3)
			continue;
		*to++ = (unsigned char)(v >> 16);
		if (i + 1 < n || pad < 2)
			*to++ = (unsigned char)(v >> 8);
		if (i + 1 < n || pad < 1)
			*to++ = (unsigned char)v;
		v = 0;
	}
	return to - (unsigned char *)out;
}
