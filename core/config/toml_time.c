#include <string.h>

#include "core/config/toml_inside.h"

static int no_time(struct toml_reader *r)
{
	return toml_wrong(r, "not a date or time such as 2026-11-21T08:00:00Z");
}

/* Takes exactly so many digits. */
static bool toml_time_take(struct toml_reader *r, int digits, int *n)
{
	*n = 0;
	for (; digits; digits--, r->s++) {
		if (*r->s < '0' || *r->s > '9')
			return false;
		*n = *n * 10 + *r->s - '0';
	}
	return true;
}

static bool toml_time_take_mark(struct toml_reader *r, char mark)
{
	if (*r->s != mark)
		return false;
	r->s++;
	return true;
}

static int days_of(int year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (leap && month == 2);
}

static bool toml_time_take_date(struct toml_reader *r, struct toml_time *t)
{
	return toml_time_take(r, 4, &t->year) && toml_time_take_mark(r, '-') &&
	       toml_time_take(r, 2, &t->month) && toml_time_take_mark(r, '-') &&
	       toml_time_take(r, 2, &t->day) && t->month >= 1 && t->month <= 12 &&
	       t->day >= 1 && t->day <= days_of(t->year, t->month);
}

/* Takes the fraction of a second; nine digits are kept. */
static bool take_fraction(struct toml_reader *r, int *nanosecond)
{
	size_t n = strspn(++r->s, "0123456789");

	for (size_t i = 0; i < 9; i++)
		*nanosecond = *nanosecond * 10 + (i < n ? r->s[i] - '0' : 0);
	r->s += n;
	return n > 0;
}

static bool toml_time_take_clock(struct toml_reader *r, struct toml_time *t)
{
	if (!toml_time_take(r, 2, &t->hour) || !toml_time_take_mark(r, ':') ||
	    !toml_time_take(r, 2, &t->minute) || !toml_time_take_mark(r, ':') ||
	    !toml_time_take(r, 2, &t->second) || t->hour > 23 || t->minute > 59 ||
	    t->second > 60)
		return false;
	return *r->s != '.' || take_fraction(r, &t->nanosecond);
}

static bool toml_time_take_offset(struct toml_reader *r, int *offset)
{
	int sign = *r->s == '-' ? -1 : 1, hours, minutes;

	if (*r->s == 'Z' || *r->s == 'z')
		return r->s++, true;
	r->s++;
	if (!toml_time_take(r, 2, &hours) || !toml_time_take_mark(r, ':') ||
	    !toml_time_take(r, 2, &minutes) || hours > 23 || minutes > 59)
		return false;
	*offset = sign * (hours * 60 + minutes);
	return true;
}

/* A time of day behind a date: T, or a blank with a digit. */
static bool toml_time_goes_on(const char *s)
{
	return *s == 'T' || *s == 't' || (*s == ' ' && s[1] >= '0' && s[1] <= '9');
}

static bool take_time(struct toml_reader *r, struct toml_value *v)
{
	if (r->s[2] == ':') {
		v->kind = TOML_CLOCK;
		return toml_time_take_clock(r, &v->time);
	}
	v->kind = TOML_DATE;
	if (!toml_time_take_date(r, &v->time))
		return false;
	if (!toml_time_goes_on(r->s))
		return true;
	r->s++;
	v->kind = TOML_LOCAL_TIME;
	if (!toml_time_take_clock(r, &v->time))
		return false;
	if (!*r->s || !strchr("Zz+-", *r->s))
		return true;
	v->kind = TOML_TIME;
	return toml_time_take_offset(r, &v->time.offset);
}

int toml_read_time(struct toml_reader *r, struct toml_value *v)
{
	if (!take_time(r, v) || (*r->s && !strchr(" \t\r\n,]}#", *r->s)))
		return no_time(r);
	return 0;
}
