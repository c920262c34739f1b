#include "core/vault/vault_text.h"

#include <string.h>

/* --- frontmatter ------------------------------------------------------------------- */

/* The number of bytes of the line at `at`, line end included. */
static size_t vault_text_line_size(const char *data, size_t len, size_t at)
{
	const char *end = memchr(data + at, '\n', len - at);

	return end ? (size_t)(end - data) + 1 - at : len - at;
}

static bool is_fence(const char *line, size_t n, const char *fence)
{
	while (n > 3 && strchr(" \t\r\n", line[n - 1]))
		n--;
	return n == 3 && memcmp(line, fence, 3) == 0;
}

size_t vault_note_front(const char *data, size_t len)
{
	size_t at = len ? vault_text_line_size(data, len, 0) : 0, n;

	if (at < 4 || !is_fence(data, at, "---"))
		return 0;
	for (; at < len; at += n) {
		n = vault_text_line_size(data, len, at);
		if (is_fence(data + at, n, "---") || is_fence(data + at, n, "..."))
			return at + n;
	}
	return 0;
}

/* --- composing ----------------------------------------------------------------------- */

static void vault_text_end_line(struct text *t, size_t start)
{
	if (t->len > start && t->data[t->len - 1] != '\n')
		text_add(t, "\n", 1);
}

void vault_note_compose(enum note_mode mode, const struct text *old, size_t front,
			const char *add, struct text *out)
{
	const char *data = old->data ? old->data : "";
	size_t start = out->len, head = 0;

	if (mode == NOTE_APPEND)
		head = old->len;
	else if (mode == NOTE_PREPEND)
		head = front;
	text_add(out, data, head);
	vault_text_end_line(out, start);
	start = out->len;
	text_add(out, add, strlen(add));
	if (mode != NOTE_PREPEND || head == old->len)
		return;
	vault_text_end_line(out, start);
	text_add(out, data + head, old->len - head);
}

/* --- reading ------------------------------------------------------------------------- */

static size_t vault_text_cost(unsigned char c)
{
	if (c < 0x20 || c == 0x7f)
		return 6;
	return c == '"' || c == '\\' || c == '/' ? 2 : c < 0x80 ? 1 : 3;
}

size_t vault_note_fit(const char *data, size_t len, size_t room)
{
	size_t n = 0, back = 0;

	while (n < len && vault_text_cost((unsigned char)data[n]) <= room)
		room -= vault_text_cost((unsigned char)data[n++]);
	/* The last character may be incomplete, since only its first bytes may be within `len`. */
	while (back < 3 && back < n && text_is_inside(data[n - 1 - back]))
		back++;
	if (back < n && (unsigned char)data[n - 1 - back] >= 0xc0) {
		unsigned char first = (unsigned char)data[n - 1 - back];
		size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;

		if (back + 1 < size && back + 1 < n)
			return n - back - 1;
	}
	return n;
}

const char *vault_note_text(struct arena *a, const char *data, size_t len)
{
	size_t zeros = 0;
	char *out, *at;

	for (const char *s = data; (s = memchr(s, 0, len - (size_t)(s - data))); s++)
		zeros++;
	out = at = arena_alloc(a, len + 2 * zeros + 1);
	for (size_t i = 0; i < len; i++) {
		if (data[i]) {
			*at++ = data[i];
			continue;
		}
		memcpy(at, "\xef\xbf\xbd", 3);
		at += 3;
	}
	return out;
}
