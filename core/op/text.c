#include "core/base/alloc.h"
#include "core/op/op.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- growing ------------------------------------------------------------------- */

static void text_grow(struct text *t, size_t more)
{
	size_t room = t->room ? t->room : 256;

	while (room - t->len <= more)
		room *= 2;
	t->data = xreallocarray(t->data, room, 1);
	t->room = room;
}

/* Makes room for `more` bytes and a NUL. The function is inline, because it is called for each
 * part of each answer, and usually there is room already. If memory runs out, the process ends,
 * as with an arena. */
static inline char *text_room(struct text *t, size_t more)
{
	if (t->room - t->len <= more)
		text_grow(t, more);
	return t->data + t->len;
}

void text_add(struct text *t, const char *data, size_t len)
{
	char *p;

	if (t->counts) {
		t->len += len;
		return;
	}
	p = text_room(t, len);
	if (len)
		memcpy(p, data, len);
	p[len] = '\0';
	t->len += len;
}

void text_add_member(struct text *t, const char *name, bool first)
{
	size_t n = strlen(name), len = n + (first ? 3 : 4);
	char *p;

	if (!t->counts) {
		p = text_room(t, len);
		if (!first)
			*p++ = ',';
		*p++ = '"';
		memcpy(p, name, n);
		memcpy(p + n, "\":", 3);
	}
	t->len += len;
}

void text_addf(struct text *t, const char *fmt, ...)
{
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	text_room(t, 0);
	n = vsnprintf(t->data + t->len, t->room - t->len, fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n >= t->room - t->len)
		vsnprintf(text_room(t, (size_t)n), (size_t)n + 1, fmt, again);
	va_end(again);
	t->len += n > 0 ? (size_t)n : 0;
}

size_t text_control_len(const char *text, bool lines)
{
	const unsigned char *s = (const unsigned char *)text;

	if (lines && (*s == '\n' || *s == '\t' || (*s == '\r' && s[1] == '\n')))
		return 0;
	if (*s < ' ' || *s == 127)
		return 1;
	if (*s == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0)
		return 2;
	if (*s == 0xd8 && s[1] == 0x9c)
		return 2;
	if (*s == 0xe2 && ((s[1] == 0x80 && ((s[2] >= 0xaa && s[2] <= 0xae) ||
					     s[2] == 0x8e || s[2] == 0x8f)) ||
			   (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9)))
		return 3;
	return 0;
}

/* --- texts of others ----------------------------------------------------------------- */

size_t text_blank_len(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	if (*s == ' ' || (*s >= '\t' && *s <= '\r'))
		return 1;
	if (*s == 0xc2 && (s[1] == 0x85 || s[1] == 0xa0))
		return 2;
	if (*s == 0xe2 && s[1] == 0x80)
		return (s[2] >= 0x80 && s[2] <= 0x8a) || s[2] == 0xa8 || s[2] == 0xa9 ||
				       s[2] == 0xaf
			       ? 3
			       : 0;
	return !strncmp(text, "\xe1\x9a\x80", 3) || !strncmp(text, "\xe2\x81\x9f", 3) ||
			       !strncmp(text, "\xe3\x80\x80", 3)
		       ? 3
		       : 0;
}

const char *text_past_blanks(const char *s)
{
	size_t n;

	while ((n = text_blank_len(s)))
		s += n;
	return s;
}

/* Whether the text at `s` begins with `word`, which is given in small letters. Capitals at `s`
 * count as small letters, and `_` counts as `-`. */
static bool text_is_word(const char *s, const char *word)
{
	for (; *word; s++, word++)
		if ((*s | 32) != *word && !(*s == '_' && *word == '-'))
			return false;
	return true;
}

/* Whether the text after a `[` looks like the heading of a message. */
static bool text_is_heading(const char *s)
{
	s = text_past_blanks(s);
	return text_is_word(s, "from") && text_blank_len(s + 4);
}

/* Whether a `<` begins a tag in which a client puts the output of hooks. */
static bool text_is_tag(const char *s)
{
	s = text_past_blanks(s);
	s = text_past_blanks(s + (*s == '/'));
	return text_is_word(s, "system-reminder") || text_is_word(s, "hook-context");
}

void text_add_said(struct text *t, const char *s)
{
	size_t n;

	for (; *s; s += n) {
		n = strcspn(s, "[<");
		text_add(t, s, n);
		s += n;
		n = *s != '\0';
		if (*s == '<' && text_is_tag(s + 1)) {
			text_add(t, "(", 1);
		} else if (n) {
			text_add(t, " [", *s == '[' && text_is_heading(s + 1));
			text_add(t, s, 1);
		}
	}
}

void text_mask(struct text *t, size_t from)
{
	size_t n;

	for (; from < t->len; from += n ? n : 1) {
		n = text_control_len(t->data + from, true);
		memset(t->data + from, '?', n);
	}
}

size_t text_hide(struct text *t, const char *secret)
{
	const size_t n = strlen(secret);
	size_t part = !n ? 0 : t->len < n ? t->len : n - 1;
	char *at = t->data;

	while (n && t->len &&
	       (at = memmem(at, t->len - (size_t)(at - t->data), secret, n)))
		memset(at, '*', n);
	while (part && memcmp(t->data + t->len - part, secret, part) != 0)
		part--;
	return t->len - part;
}

void text_drop(struct text *t, size_t n)
{
	if (n)
		memmove(t->data, t->data + n, t->len - n + 1);
	t->len -= n;
}

void text_release(struct text *t)
{
	free(t->data);
	*t = (struct text){ 0 };
}

/* --- JSON texts -------------------------------------------------------------------- */

bool text_is_inside(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

size_t text_start(const char *s, size_t at)
{
	while (at > 0 && text_is_inside(s[at]))
		at--;
	return at;
}

size_t text_wide(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned char low = 0x80, high = 0xbf;
	size_t n = *s >= 0xf0 ? 4 : *s >= 0xe0 ? 3 : 2;

	if (*s < 0xc2 || *s > 0xf4)
		return 0;
	if (*s == 0xe0)
		low = 0xa0;
	else if (*s == 0xed)
		high = 0x9f;
	else if (*s == 0xf0)
		low = 0x90;
	else if (*s == 0xf4)
		high = 0x8f;
	if (s[1] < low || s[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

/* Whether one of eight bytes is below ' ', above 0x7f, a quote or a backslash. The result may
 * also be true for a few plain bytes, which plain_size() then checks one by one. */
static bool has_special(const char *s)
{
	const uint64_t ones = 0x0101010101010101u, highs = ones * 0x80;
	uint64_t v, quote, slash;

	memcpy(&v, s, sizeof(v));
	quote = v ^ ones * '"';
	slash = v ^ ones * '\\';
	return ((v | (v - ones * ' ') | (quote - ones) | (slash - ones)) & highs) != 0;
}

/* Returns the number of bytes at the beginning of `s` that JSON contains unchanged. */
static size_t plain_size(const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;

	for (;;) {
		size_t n;

		while (len - (size_t)((const char *)p - s) >= 8 &&
		       !has_special((const char *)p))
			p += 8;
		while (*p >= ' ' && *p < 0x80 && *p != '"' && *p != '\\')
			p++;
		if (*p < 0x80 || !(n = text_wide((const char *)p)))
			return (size_t)((const char *)p - s);
		p += n;
	}
}

static void add_escape(struct text *t, unsigned char c)
{
	static const char letters[] = {
		['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n',  ['\r'] = 'r',
		['\t'] = 't', ['"'] = '"',  ['\\'] = '\\',
	};
	static const char digits[] = "0123456789abcdef";

	if (c >= 0x80)
		text_add(t, "\xef\xbf\xbd", 3); /* the replacement character U+FFFD */
	else if (c < sizeof(letters) && letters[c])
		text_add(t, (char[]){ '\\', letters[c] }, 2);
	else
		text_add(t,
			 (char[]){ '\\', 'u', '0', '0', digits[c >> 4], digits[c & 15] },
			 6);
}

void text_add_json(struct text *t, const char *s)
{
	size_t len = strlen(s);

	text_add(t, "\"", 1);
	for (;;) {
		size_t n = plain_size(s, len);

		text_add(t, s, n);
		s += n;
		len -= n;
		if (!*s)
			break;
		add_escape(t, (unsigned char)*s++);
		len--;
	}
	text_add(t, "\"", 1);
}

/* Returns the number of bytes of JSON for the character at `s`. Sets *n to the number of bytes
 * of the character at `s`. */
static size_t text_cost(const char *s, size_t len, size_t *n)
{
	unsigned char c = (unsigned char)*s;
	size_t wide;

	*n = 1;
	if (c < ' ')
		return strchr("\b\f\n\r\t", c) && c ? 2 : 6;
	if (c < 0x80)
		return c == '"' || c == '\\' ? 2 : 1;
	wide = text_wide(s);
	*n = wide && wide <= len ? wide : 1;
	return *n > 1 ? wide : 3; /* U+FFFD has 3 bytes */
}

size_t text_json_fit(const char *s, size_t len, size_t *room)
{
	size_t at = 0, n, size;

	for (; at < len; at += n, *room -= size)
		if ((size = text_cost(s + at, len - at, &n)) > *room)
			break;
	return at;
}

/* --- time ---------------------------------------------------------------------------- */

enum { DAY_MS = 86400000 };

/* Returns the number of days from 1970-01-01 to a day of the Gregorian calendar. Years are
 * counted from March, so that the leap day is the last day of a year. */
static int64_t days_from_civil(int64_t y, int64_t m, int64_t d)
{
	int64_t era, year_of_era, day_of_year;

	y -= m <= 2;
	era = (y >= 0 ? y : y - 399) / 400;
	year_of_era = y - era * 400;
	day_of_year = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
	return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 +
	       day_of_year - 719468;
}

static void put_digits(char *out, int64_t value, int n)
{
	while (n--) {
		out[n] = (char)('0' + value % 10);
		value /= 10;
	}
}

void time_format(int64_t ms, char out[25])
{
	int64_t days, era, doe, yoe, doy, month;

	ms = ms < 0 ? 0 : ms > TIME_MOST ? TIME_MOST : ms;
	days = ms / DAY_MS + 719468;
	ms %= DAY_MS;
	era = days / 146097;
	doe = days - era * 146097;
	yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	month = (5 * doy + 2) / 153;
	memcpy(out, "0000-00-00T00:00:00.000Z", 25);
	put_digits(out, yoe + era * 400 + (month >= 10), 4);
	put_digits(out + 5, month < 10 ? month + 3 : month - 9, 2);
	put_digits(out + 8, doy - (153 * month + 2) / 5 + 1, 2);
	put_digits(out + 11, ms / 3600000, 2);
	put_digits(out + 14, ms / 60000 % 60, 2);
	put_digits(out + 17, ms / 1000 % 60, 2);
	put_digits(out + 20, ms % 1000, 3);
}

/* Reads `n` digits with a value from `lo` to `hi`. */
static bool text_take_digits(const char **s, int n, int lo, int hi, int *value)
{
	*value = 0;
	for (; n > 0; n--, (*s)++) {
		if (**s < '0' || **s > '9')
			return false;
		*value = *value * 10 + (**s - '0');
	}
	return *value >= lo && *value <= hi;
}

static bool take_sign(const char **s, const char *signs)
{
	return **s && strchr(signs, **s) && (*s)++;
}

bool time_take_date(const char **s, struct time_parts *t)
{
	static const char lengths[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	int y;

	if (!text_take_digits(s, 4, 0, 9999, &t->year) || !take_sign(s, "-") ||
	    !text_take_digits(s, 2, 1, 12, &t->month) || !take_sign(s, "-") ||
	    !text_take_digits(s, 2, 1, lengths[t->month - 1], &t->day))
		return false;
	y = t->year;
	return t->month != 2 || t->day < 29 ||
	       (y % 4 == 0 && (y % 100 != 0 || y % 400 == 0));
}

bool time_take_clock(const char **s, struct time_parts *t)
{
	t->nanosecond = 0;
	if (!text_take_digits(s, 2, 0, 23, &t->hour) || !take_sign(s, ":") ||
	    !text_take_digits(s, 2, 0, 59, &t->minute) || !take_sign(s, ":") ||
	    !text_take_digits(s, 2, 0, 60, &t->second))
		return false;
	if (!take_sign(s, "."))
		return true;
	if (**s < '0' || **s > '9')
		return false;
	for (int unit = 100000000; **s >= '0' && **s <= '9'; (*s)++) {
		t->nanosecond += unit * (**s - '0');
		unit /= 10;
	}
	return true;
}

bool time_take_offset(const char **s, struct time_parts *t)
{
	int sign = **s == '-' ? -1 : 1, hours, minutes;

	t->offset = 0;
	if (take_sign(s, "Zz"))
		return true;
	if (!take_sign(s, "+-") || !text_take_digits(s, 2, 0, 23, &hours) ||
	    !take_sign(s, ":") || !text_take_digits(s, 2, 0, 59, &minutes))
		return false;
	t->offset = sign * (hours * 60 + minutes);
	return true;
}

/* A leap second, :60, is read as the first second of the next minute. */
int64_t time_parse(const char *s)
{
	struct time_parts t;
	int64_t ms;

	if (!time_take_date(&s, &t) || t.year < 1970 || !take_sign(&s, "Tt ") ||
	    !time_take_clock(&s, &t) || !time_take_offset(&s, &t) || *s)
		return -1;
	ms = days_from_civil(t.year, t.month, t.day) * DAY_MS + t.nanosecond / 1000000 +
	     ((t.hour * 60 + t.minute - t.offset) * 60 + t.second) * 1000;
	return ms < 0 || ms > TIME_MOST ? -1 : ms;
}
