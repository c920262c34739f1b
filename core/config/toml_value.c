#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/toml_inside.h"
#include "core/op/op.h"

/* --- bytes ----------------------------------------------------------------------- */

/* Whether a byte is allowed in the document. The only control characters allowed are tab, LF,
 * and CR before an LF. */
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
			return toml_wrong(r,
					  "a control character (0x%02x) is not allowed",
					  (unsigned char)*r->s);
		if (!toml_skip_newline(r))
			r->s += n;
	}
	r->s = r->line_at = end - len;
	r->line = 1;
	return 0;
}

/* --- escapes ------------------------------------------------------------------------ */

/* Writes a character as UTF-8 at `*out`, and moves `*out` behind the character. */
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

/* Reads the digits of \u0000 or \U00000000; the cursor is behind the letter u or U. */
static int read_code(struct toml_reader *r, int digits, char **out)
{
	uint32_t code = 0;

	for (int i = 0; i < digits; i++, r->s++) {
		int c = tolower((unsigned char)*r->s);

		if (!isxdigit(c))
			return toml_wrong(r, "%d hexadecimal digits must follow", digits);
		code = code << 4 | (uint32_t)(isdigit(c) ? c - '0' : c - 'a' + 10);
	}
	if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return toml_wrong(r, "U+%04X is not a character", code);
	put_code(out, code);
	return 0;
}

/* Skips a backslash at the end of a line, and all blanks and newlines that follow the
 * backslash. */
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
		return toml_wrong(r, "unknown escape; write \\\\ for a backslash");
	*(*out)++ = codes[name - names];
	r->s++;
	return 0;
}

/* --- texts --------------------------------------------------------------------------- */

/* An upper bound of the text's size: the number of bytes up to the first place at which the
 * text may end. */
static size_t room_for(const char *s, char quote, bool lines)
{
	const char *p = s;

	for (; *p && (lines || *p != '\n'); p++) {
		if (*p == '\\' && quote == '"' && p[1])
			p++;
		else if (*p == quote && (!lines || (p[1] == quote && p[2] == quote)))
			break;
	}
	return (size_t)(p - s) +
	       3; /* two quotes of the text may precede the closing three */
}

/* Whether the text ends at the cursor. Three quotes in a row end a text of several lines; one
 * or two quotes before the three are part of the text. */
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
			return toml_wrong_at(r, start, "this text does not end with %s%c",
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

static int no_number(struct toml_reader *r)
{
	return toml_wrong(r, "not a number");
}

static bool is_digit(char c, int base)
{
	int d = isdigit((unsigned char)c)    ? c - '0'
		: isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
					     : 99;

	return d < base;
}

/* Copies digits, and leaves out underscores between two digits. Returns false if there is no
 * digit, or if an underscore is in another place. */
static bool toml_number_take_digits(struct toml_reader *r, int base, char **out)
{
	if (!is_digit(*r->s, base))
		return false;
	while (is_digit(*r->s, base)) {
		*(*out)++ = *r->s++;
		if (*r->s == '_') {
			r->s++;
			if (!is_digit(*r->s, base))
				return false;
		}
	}
	return true;
}

static int end_integer(struct toml_reader *r, struct toml_value *v, const char *digits,
		       int base)
{
	errno = 0;
	v->kind = TOML_INT;
	v->integer = strtoll(digits, NULL, base);
	if (errno == ERANGE)
		return toml_wrong_at(r, v->at, "a number beyond 64 bits");
	return 0;
}

/* Reads a number with the prefix 0x, 0o or 0b. */
static int read_based(struct toml_reader *r, struct toml_value *v, char *digits)
{
	int base = r->s[1] == 'x' ? 16 : r->s[1] == 'o' ? 8 : 2;
	char *end = digits;

	r->s += 2;
	if (!toml_number_take_digits(r, base, &end))
		return no_number(r);
	return end_integer(r, v, digits, base);
}

/* Reads inf or nan; `digits` may begin with a sign. */
static int read_special(struct toml_reader *r, struct toml_value *v, const char *digits)
{
	v->kind = TOML_REAL;
	v->real = *r->s == 'i' ? (double)INFINITY : (double)NAN;
	if (*digits == '-')
		v->real = -v->real;
	r->s += 3;
	return 0;
}

/* Reads the number's fraction and exponent, if any. A fraction or an exponent makes the number
 * a real. */
static int read_fraction(struct toml_reader *r, char **out, bool *real)
{
	if (*r->s == '.') {
		*real = true;
		*(*out)++ = *r->s++;
		if (!toml_number_take_digits(r, 10, out))
			return no_number(r);
	}
	if (*r->s == 'e' || *r->s == 'E') {
		*real = true;
		*(*out)++ = *r->s++;
		if (*r->s == '+' || *r->s == '-')
			*(*out)++ = *r->s++;
		if (!toml_number_take_digits(r, 10, out))
			return no_number(r);
	}
	return 0;
}

static int read_decimal(struct toml_reader *r, struct toml_value *v, char *digits,
			char *end)
{
	const char *first = end;
	bool real = false;

	if (!toml_number_take_digits(r, 10, &end))
		return no_number(r);
	if (*first == '0' && end - first > 1)
		return toml_wrong_at(r, v->at, "a number must not begin with 0");
	if (read_fraction(r, &end, &real) < 0)
		return r->fault->code;
	*end = '\0';
	if (!real)
		return end_integer(r, v, digits, 10);
	v->kind = TOML_REAL;
	v->real = strtod(digits, NULL);
	return 0;
}

static int toml_read_number(struct toml_reader *r, struct toml_value *v)
{
	size_t n = strspn(r->s, "0123456789abcdefxoABCDEF_.+-");
	char *digits = arena_alloc(r->arena, n + 1), *end = digits;

	if (*r->s == '0' && r->s[1] && strchr("xob", r->s[1])) {
		if (read_based(r, v, digits) < 0)
			return r->fault->code;
	} else {
		if (*r->s == '+' || *r->s == '-')
			*end++ = *r->s++;
		if (!strncmp(r->s, "inf", 3) || !strncmp(r->s, "nan", 3))
			read_special(r, v, digits);
		else if (read_decimal(r, v, digits, end) < 0)
			return r->fault->code;
	}
	if (*r->s && !strchr(" \t\r\n,]}#", *r->s))
		return no_number(r);
	return 0;
}

static int no_time(struct toml_reader *r)
{
	return toml_wrong(r, "not a date or time such as 2026-11-21T08:00:00Z");
}

/* Whether a time of day follows a date: T follows, or a blank and a digit. */
static bool toml_time_goes_on(const char *s)
{
	return *s == 'T' || *s == 't' || (*s == ' ' && s[1] >= '0' && s[1] <= '9');
}

static bool take_time(struct toml_reader *r, struct toml_value *v)
{
	if (r->s[2] == ':') {
		v->kind = TOML_CLOCK;
		return time_take_clock(&r->s, &v->time);
	}
	v->kind = TOML_DATE;
	if (!time_take_date(&r->s, &v->time))
		return false;
	if (!toml_time_goes_on(r->s))
		return true;
	r->s++;
	v->kind = TOML_LOCAL_TIME;
	if (!time_take_clock(&r->s, &v->time))
		return false;
	if (!*r->s || !strchr("Zz+-", *r->s))
		return true;
	v->kind = TOML_TIME;
	return time_take_offset(&r->s, &v->time);
}

static int toml_read_time(struct toml_reader *r, struct toml_value *v)
{
	if (!take_time(r, v) || (*r->s && !strchr(" \t\r\n,]}#", *r->s)))
		return no_time(r);
	return 0;
}

/* The bytes up to the end of a word without quotes. */
static size_t word_size(const char *s)
{
	return strcspn(s, " \t\r\n,]}#=");
}

static int no_value(struct toml_reader *r)
{
	size_t n = word_size(r->s);

	if (!n)
		return toml_wrong(r, "a value is missing here");
	return toml_wrong(r, "'%.*s' is not a value; put a text in quotes",
			  (int)(n < 40 ? n : 40), r->s);
}

/* --- arrays and inline tables ------------------------------------------------------- */

static int toml_value_go_down(struct toml_reader *r)
{
	if (r->depth >= TOML_DEPTH)
		return toml_wrong(r, "tables and arrays are nested more than %d deep",
				  TOML_DEPTH);
	r->depth++;
	r->s++;
	return 0;
}

static int read_array(struct toml_reader *r, struct toml_value *v)
{
	struct toml_value item;

	v->kind = TOML_ARRAY;
	v->array = arena_alloc(r->arena, sizeof(*v->array));
	if (toml_value_go_down(r) < 0)
		return r->fault->code;
	for (toml_skip_lines(r); *r->s != ']'; toml_skip_lines(r)) {
		if (toml_read_value(r, &item) < 0)
			return r->fault->code;
		*toml_push(r->arena, v->array) = item;
		toml_skip_lines(r);
		if (*r->s == ',')
			r->s++;
		else if (*r->s != ']')
			return toml_wrong(r,
					  "a comma or ] must follow a value of an array");
	}
	r->s++;
	r->depth--;
	return 0;
}

/* Reads an inline table. An inline table is on one line, and no comma precedes the closing
 * brace. */
static int read_braces(struct toml_reader *r, struct toml_value *v)
{
	if (toml_value_go_down(r) < 0)
		return r->fault->code;
	v->kind = TOML_TABLE;
	v->table = toml_table_new(r->arena, TOML_MADE_INLINE, r->depth);
	toml_skip_blanks(r);
	while (*r->s != '}' || v->table->n) {
		if (toml_read_pair(r, v->table) < 0)
			return r->fault->code;
		toml_skip_blanks(r);
		if (*r->s == '}')
			break;
		if (*r->s != ',')
			return toml_wrong(
				r,
				"a comma or } must follow a value of an inline table, on "
				"the same line");
		r->s++;
		toml_skip_blanks(r);
	}
	r->s++;
	r->depth--;
	return 0;
}

/* --- words ---------------------------------------------------------------------------- */

static int toml_value_read_word(struct toml_reader *r, struct toml_value *v)
{
	size_t n = word_size(r->s);

	v->kind = TOML_BOOL;
	v->boolean = n == 4;
	if (!(n == 4 && !memcmp(r->s, "true", n)) &&
	    !(n == 5 && !memcmp(r->s, "false", n)))
		return no_value(r);
	r->s += n;
	return 0;
}

static bool is_time(const char *s)
{
	size_t n = strspn(s, "0123456789");

	return (n == 4 && s[n] == '-') || (n == 2 && s[n] == ':');
}

int toml_read_value(struct toml_reader *r, struct toml_value *v)
{
	*v = (struct toml_value){ .at = toml_here(r) };
	switch (*r->s) {
	case '"':
	case '\'':
		v->kind = TOML_TEXT;
		return toml_read_text(r, true, &v->text);
	case '[':
		return read_array(r, v);
	case '{':
		return read_braces(r, v);
	default:
		break;
	}
	if (is_time(r->s))
		return toml_read_time(r, v);
	if (isdigit((unsigned char)*r->s) || *r->s == '+' || *r->s == '-' ||
	    !strncmp(r->s, "inf", 3) || !strncmp(r->s, "nan", 3))
		return toml_read_number(r, v);
	return toml_value_read_word(r, v);
}
