#include <ctype.h>
#include <string.h>

#include "core/config/toml_inside.h"
#include "core/op/op.h"

/* --- bytes ----------------------------------------------------------------------- */

/* Whether a byte may stand in the document: no control character but tab and LF, and a CR
 * only before its LF. */
static bool may_stand(const char *s)
{
	unsigned char c = (unsigned char)*s;

	if (c == '\r')
		return s[1] == '\n';
	return c == '\t' || c == '\n' || (c >= ' ' && c != 127);
}

int toml_check_bytes(struct toml_reader *r, size_t len)
{
	const char *end = r->s + len;

	while (r->s < end) {
		size_t n = (unsigned char)*r->s < 0x80 ? 1 : text_wide(r->s);

		if (!n)
			return toml_wrong(r, "not UTF-8");
		if (n == 1 && !may_stand(r->s))
			return toml_wrong(r, "a control character (0x%02x)",
					  (unsigned char)*r->s);
		if (!toml_skip_newline(r))
			r->s += n;
	}
	r->s = r->line_at = end - len;
	r->line = 1;
	return 0;
}

/* --- escapes ------------------------------------------------------------------------ */

/* Appends a character as UTF-8, behind `*out`. */
static void put_code(char **out, uint32_t code)
{
	static const unsigned char heads[] = { 0, 0xc0, 0xe0, 0xf0 };
	unsigned shift = code < 0x80 ? 0 : code < 0x800 ? 6 : code < 0x10000 ? 12 : 18;

	*(*out)++ = (char)(heads[shift / 6] | code >> shift);
	while (shift) {
		shift -= 6;
		*(*out)++ = (char)(0x80 | (code >> shift & 0x3f));
	}
}

/* The digits of \u0000 or \U00000000; the cursor is behind the letter. */
static int read_code(struct toml_reader *r, int digits, char **out)
{
	uint32_t code = 0;

	for (int i = 0; i < digits; i++, r->s++) {
		int c = tolower((unsigned char)*r->s);

		if (!isxdigit(c))
			return toml_wrong(r, "%d hexadecimal digits belong here", digits);
		code = code << 4 | (uint32_t)(isdigit(c) ? c - '0' : c - 'a' + 10);
	}
	if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return toml_wrong(r, "U+%04X is no character", code);
	put_code(out, code);
	return 0;
}

/* A backslash at the end of a line swallows what is blank behind it. */
static bool skip_line_end(struct toml_reader *r)
{
	const char *s = r->s + strspn(r->s, " \t");

	if (*s != '\n' && *s != '\r')
		return false;
	do
		toml_skip_blanks(r);
	while (toml_skip_newline(r));
	return true;
}

static int read_escape(struct toml_reader *r, bool lines, char **out)
{
	static const char names[] = "btnfr\"\\", codes[] = "\b\t\n\f\r\"\\";
	const char *name;

	r->s++;
	if (lines && skip_line_end(r))
		return 0;
	if (*r->s == 'u' || *r->s == 'U')
		return r->s++, read_code(r, r->s[-1] == 'u' ? 4 : 8, out);
	name = *r->s ? strchr(names, *r->s) : NULL;
	if (!name)
		return toml_wrong(r, "no such escape; a backslash itself is \\\\");
	*(*out)++ = codes[name - names];
	r->s++;
	return 0;
}

/* --- texts --------------------------------------------------------------------------- */

/* An upper bound of the text's bytes: up to the first place where it may end. */
static size_t room_for(const char *s, char quote, bool lines)
{
	const char *p = s;

	for (; *p && (lines || *p != '\n'); p++) {
		if (*p == '\\' && quote == '"' && p[1])
			p++;
		else if (*p == quote && (!lines || (p[1] == quote && p[2] == quote)))
			break;
	}
	return (size_t)(p - s) + 3; /* two quotes may stand before the last three */
}

/* Whether the text ends here.  Three quotes in a row end a text of several lines; one or
 * two quotes before these are part of the text. */
static bool toml_text_ends(struct toml_reader *r, char quote, bool lines, char **out)
{
	size_t n = 0;

	if (*r->s != quote)
		return false;
	if (!lines)
		return r->s++, true;
	while (n < 5 && r->s[n] == quote)
		n++;
	for (size_t i = n >= 3 ? 3 : 0; i < n; i++)
		*(*out)++ = quote;
	r->s += n;
	return n >= 3;
}

static int toml_text_read_body(struct toml_reader *r, char quote, bool lines, char **out)
{
	struct toml_place start = toml_here(r);

	while (!toml_text_ends(r, quote, lines, out)) {
		if (!*r->s || (!lines && (*r->s == '\n' || *r->s == '\r')))
			return toml_wrong_at(r, start, "this text is not closed by %s%c",
					     lines ? "three " : "", quote);
		if (*r->s == '\\' && quote == '"') {
			if (read_escape(r, lines, out) < 0)
				return r->fault->code;
		} else if (*r->s == '\n' || *r->s == '\r') {
			if (*r->s == '\r')
				*(*out)++ = '\r';
			*(*out)++ = '\n';
			toml_skip_newline(r);
		} else if (*r->s != quote) {
			*(*out)++ = *r->s++;
		}
	}
	return 0;
}

int toml_read_text(struct toml_reader *r, bool lines, struct toml_text *text)
{
	char quote = *r->s, *data, *end;

	lines = lines && r->s[1] == quote && r->s[2] == quote;
	r->s += lines ? 3 : 1;
	if (lines)
		toml_skip_newline(r); /* a newline right behind the three quotes is not
					 part of the text */
	data = end = arena_alloc(r->arena, room_for(r->s, quote, lines) + 1);
	if (toml_text_read_body(r, quote, lines, &end) < 0)
		return r->fault->code;
	*text = (struct toml_text){ data, (size_t)(end - data) };
	return 0;
}
