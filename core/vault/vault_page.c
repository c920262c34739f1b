#include "core/vault/vault_page.h"

#include <inttypes.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>

/* The beginnings and ends of the lines of `rev` and `sum`, for each form of page. */
static const struct form {
	const char *rev, *rev_end, *sum, *sum_end;
} forms[] = {
	[PAGE_MARKDOWN] = { "rev: ", "\n", "sum: ", "\n" },
	[PAGE_JSON] = { "  \"rev\": ", ",\n", "  \"sum\": \"", "\"\n" },
};

struct text *page_start(struct page *p, enum page_form form)
{
	p->text.len = 0;
	p->form = form;
	if (form == PAGE_MARKDOWN)
		text_addf(&p->text, "---\n");
	return &p->text;
}

/* Computes the sum over a page's bytes: `a` is the part before the `sum` line, and `b` is the
 * part after this line. */
static void vault_page_sum_of(const char *a, size_t a_len, const char *b, size_t b_len,
			      char out[PAGE_SUM + 1])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t hash[SHA256_DIGEST_LENGTH];
	SHA2_CTX ctx;

	SHA256Init(&ctx);
	SHA256Update(&ctx, (const uint8_t *)a, a_len);
	SHA256Update(&ctx, (const uint8_t *)b, b_len);
	SHA256Final(hash, &ctx);
	for (int i = 0; i < PAGE_SUM / 2; i++) {
		out[2 * i] = digits[hash[i] >> 4];
		out[2 * i + 1] = digits[hash[i] & 15];
	}
	out[PAGE_SUM] = '\0';
}

/* Appends the part of the page before the `sum` line. */
static void add_front(const struct page *p, int64_t rev, struct text *out)
{
	const struct form *form = &forms[p->form];

	text_add(out, p->text.data, p->split);
	text_addf(out, "%s%" PRId64 "%s", form->rev, rev, form->rev_end);
}

void page_sum(const struct page *p, int64_t rev, char sum[PAGE_SUM + 1])
{
	struct text front = { 0 };

	add_front(p, rev, &front);
	vault_page_sum_of(front.data, front.len, p->text.data + p->split,
			  p->text.len - p->split, sum);
	text_release(&front);
}

void page_seal(const struct page *p, int64_t rev, struct text *out)
{
	const struct form *form = &forms[p->form];
	const size_t start = out->len;
	char sum[PAGE_SUM + 1];

	add_front(p, rev, out);
	vault_page_sum_of(out->data + start, out->len - start, p->text.data + p->split,
			  p->text.len - p->split, sum);
	text_addf(out, "%s%s%s", form->sum, sum, form->sum_end);
	text_add(out, p->text.data + p->split, p->text.len - p->split);
}

/* Moves *at behind `word` if `word` begins at *at. */
static bool skip_word(const char *data, size_t len, size_t *at, const char *word)
{
	size_t n = strlen(word);

	if (len - *at < n || memcmp(data + *at, word, n) != 0)
		return false;
	*at += n;
	return true;
}

/* Moves *at behind the `sum` line. Returns false if there is no such line, or if its sum is not
 * the sum of the other bytes. */
static bool skip_sum(const struct form *form, const char *data, size_t len, size_t *at)
{
	char sum[PAGE_SUM + 1];
	size_t from = *at, digits;

	if (!skip_word(data, len, at, form->sum) || len - *at < PAGE_SUM)
		return false;
	digits = *at;
	*at += PAGE_SUM;
	if (!skip_word(data, len, at, form->sum_end))
		return false;
	vault_page_sum_of(data, from, data + *at, len - *at, sum);
	return memcmp(sum, data + digits, PAGE_SUM) == 0;
}

bool page_same(const struct page *p, const char *data, size_t len)
{
	const struct form *form = &forms[p->form];
	size_t tail_len = p->text.len - p->split, at = p->split;

	if (len <= p->text.len || memcmp(data, p->text.data, p->split) != 0 ||
	    memcmp(data + len - tail_len, p->text.data + p->split, tail_len) != 0)
		return false;
	if (!skip_word(data, len, &at, form->rev))
		return false;
	while (at < len && data[at] >= '0' && data[at] <= '9')
		at++;
	return skip_word(data, len, &at, form->rev_end) &&
	       skip_sum(form, data, len, &at) && at == len - tail_len;
}

/* The offset of the first line that begins with `word`, or `len` if there is no such line. */
static size_t vault_page_find_line(const char *data, size_t len, const char *word)
{
	size_t at = 0, n = strlen(word);

	while (at < len) {
		const char *end = memchr(data + at, '\n', len - at);

		if (len - at >= n && memcmp(data + at, word, n) == 0)
			return at;
		if (!end)
			break;
		at = (size_t)(end - data) + 1;
	}
	return len;
}

size_t page_tail(const char *data, size_t len)
{
	const struct form *form =
		&forms[len > 0 && data[0] == '{' ? PAGE_JSON : PAGE_MARKDOWN];
	size_t at = vault_page_find_line(data, len, form->sum);

	return at < len && skip_sum(form, data, len, &at) ? at : 0;
}

bool page_sealed(const char *data, size_t len)
{
	return page_tail(data, len) > 0;
}

/* The length of a page up to the end of its frontmatter, or up to the end of `data` if only the
 * beginning of the page was read. 0: the page has no frontmatter. */
static size_t front_of(const char *data, size_t len)
{
	size_t fence = 0;

	if (!skip_word(data, len, &fence, "---\n") &&
	    !skip_word(data, len, &fence, "---\r\n"))
		return 0;
	return fence + vault_page_find_line(data + fence, len - fence, "---");
}

int64_t page_number(const char *data, size_t len, const char *name)
{
	size_t at, n = strlen(name);
	int64_t value = 0;

	len = front_of(data, len);
	at = vault_page_find_line(data, len, name);
	for (at += n; at < len && data[at] >= '0' && data[at] <= '9'; at++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, data[at] - '0', &value))
			return 0;
	}
	return value;
}

bool page_says(const char *data, size_t len, const char *line)
{
	size_t at;

	len = front_of(data, len);
	at = vault_page_find_line(data, len, line) + strlen(line);
	if (at < len && data[at] == '\r')
		at++;
	return at < len && data[at] == '\n';
}

void page_release(struct page *p)
{
	text_release(&p->text);
	*p = (struct page){ 0 };
}

/* The number of bytes of the character at `s`, if the character is escaped in a file although
 * JSON allows the character. 0: the character is not escaped. Escaped are the control
 * characters of terminals, and the characters that YAML readers refuse (U+FEFF, U+FFFE,
 * U+FFFF). */
static size_t escaped_len(const char *s)
{
	const unsigned char *c = (const unsigned char *)s;

	if (c[0] == 0xef &&
	    ((c[1] == 0xbb && c[2] == 0xbf) || (c[1] == 0xbf && c[2] >= 0xbe)))
		return 3;
	return text_control_len(s, true);
}

void page_add_json(struct text *t, const struct text *json)
{
	size_t from = 0, n;

	for (size_t i = 0; i < json->len; i += n ? n : 1) {
		const unsigned char *c = (const unsigned char *)json->data + i;

		n = escaped_len(json->data + i);
		if (n == 0)
			continue;
		text_add(t, json->data + from, i - from);
		text_addf(t, "\\u%04x",
			  n == 1   ? c[0]
			  : n == 2 ? (c[0] & 0x1f) << 6 | (c[1] & 0x3f)
				   : (c[0] & 0xf) << 12 | (c[1] & 0x3f) << 6 |
					     (c[2] & 0x3f));
		from = i + n;
	}
	text_add(t, json->data + from, json->len - from);
}
