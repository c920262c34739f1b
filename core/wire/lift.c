#include "core/wire/lift.h"

#include <string.h>

static const char *const keys[] = { "content", "data" };

/* The end of the text whose first byte is at `at`: its quote, or `size`. */
static size_t end_of_text(const char *body, size_t at, size_t size)
{
	while (at < size) {
		const char *quote = memchr(body + at, '"', size - at);
		size_t end = quote ? (size_t)(quote - body) : size, escapes = 0;

		while (end - escapes > at && body[end - escapes - 1] == '\\')
			escapes++;
		if (escapes % 2 == 0)
			return end;
		at = end + 1;
	}
	return size;
}

static const char *known_key(const char *text, size_t len)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (strlen(keys[i]) == len && memcmp(keys[i], text, len) == 0)
			return keys[i];
	return NULL;
}

/* Whether a text stands for itself in JSON.  Other bytes that are no base64 are found by
 * its decoder. */
static bool lift_is_plain(const char *s, size_t len)
{
	return !memchr(s, '\\', len) && !memchr(s, '\0', len);
}

bool lift_find(struct lift *l, const char *body, size_t size)
{
	const char *key = NULL;
	int depth = 0;

	if (size < LIFT_LEAST)
		return false;
	for (size_t at = 0; at < size; at++) {
		char c = body[at];
		size_t end;

		depth += c == '{' || c == '[';
		depth -= c == '}' || c == ']';
		if (c == ',')
			key = NULL;
		if (c != '"')
			continue;
		end = end_of_text(body, ++at, size);
		if (end == size)
			return false;
		if (depth == 1 && key && end - at >= LIFT_LEAST) {
			*l = (struct lift){ key, at, end - at };
			return lift_is_plain(body + at, end - at);
		}
		key = depth == 1 ? known_key(body + at, end - at) : NULL;
		at = end;
	}
	return false;
}

void lift_rest(const struct lift *l, const char *body, size_t size, struct text *rest)
{
	size_t behind = l->at + l->len;

	text_add(rest, body, l->at);
	text_add(rest, body + behind, size - behind);
}
