#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/toml_inside.h"

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

/* Copies digits without the underscores that may stand between two of them; false when
 * there is no digit, or an underscore elsewhere. */
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

/* 0x, 0o, 0b */
static int read_based(struct toml_reader *r, struct toml_value *v, char *digits)
{
	int base = r->s[1] == 'x' ? 16 : r->s[1] == 'o' ? 8 : 2;
	char *end = digits;

	r->s += 2;
	if (!toml_number_take_digits(r, base, &end))
		return no_number(r);
	return end_integer(r, v, digits, base);
}

/* inf and nan; the sign, if any, is in `digits`. */
static int read_special(struct toml_reader *r, struct toml_value *v, const char *digits)
{
	v->kind = TOML_REAL;
	v->real = *r->s == 'i' ? (double)INFINITY : (double)NAN;
	if (*digits == '-')
		v->real = -v->real;
	r->s += 3;
	return 0;
}

/* Reads a fraction and an exponent, if there are any, which make the number a real. */
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
		return toml_wrong_at(r, v->at, "a number does not begin with 0");
	if (read_fraction(r, &end, &real) < 0)
		return r->fault->code;
	*end = '\0';
	if (!real)
		return end_integer(r, v, digits, 10);
	v->kind = TOML_REAL;
	v->real = strtod(digits, NULL);
	return 0;
}

int toml_read_number(struct toml_reader *r, struct toml_value *v)
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
