/*
 * when - times as people write them: a span, a time of the day, or a date.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "tools/cadre/cli.h"

/* The units of a time span, as people write them: the first letter decides. */
static const struct {
	const char *name;
	int64_t ms;
} when_units[] = {
	{ "seconds", 1000 },
	{ "minutes", 60000 },
	{ "hours", 3600000 },
	{ "days", 24 * 3600000LL },
	{ "weeks", 7 * 24 * 3600000LL },
};

/* Reads a span such as `10m`, `10 mins` or `2 hours ago`. Returns ms, or -1 if the text is no
 * span. */
static int64_t when_span(const char *s)
{
	const char *after;
	char *end;
	long long n;
	size_t len;

	if (!isdigit((unsigned char)*s) || (n = strtoll(s, &end, 10)) > 1000000)
		return -1;
	end += strspn(end, " ");
	len = strcspn(end, " ");
	after = end + len + strspn(end + len, " ");
	if (len > 1 && end[len - 1] == 's')
		len--;
	for (size_t i = 0; len && i < sizeof(when_units) / sizeof(*when_units); i++) {
		const char *name = when_units[i].name;

		if (strncmp(name, end, len) == 0)
			return !*after || !strcmp(after, "ago") ? n * when_units[i].ms
								: -1;
	}
	return -1;
}

/* Takes a form of strptime() from the text. `out` stays if the text has another form. */
static bool when_take(const char **s, const char *form, struct tm *out)
{
	struct tm read = *out;
	const char *end = strptime(*s, form, &read);

	if (!end)
		return false;
	*s = end;
	*out = read;
	return true;
}

/* Reads a time before `now`, or a time of a day in the local time zone. Returns -1 if the text
 * has none of these forms. */
static int64_t when_read(const char *text, int64_t now)
{
	time_t seconds = (time_t)(now / 1000), then;
	int64_t span = when_span(text);
	struct tm day, at = { 0 };
	bool dated = true;

	if (!*text)
		return -1;
	if (span >= 0 || !strcmp(text, "now"))
		return span > now ? -1 : now - (span > 0 ? span : 0);
	localtime_r(&seconds, &day);
	if (!strncmp(text, "today", 5))
		text += 5;
	else if (!strncmp(text, "yesterday", 9) && day.tm_mday--)
		text += 9;
	else
		dated = when_take(&text, "%Y-%m-%d", &day);
	if (dated)
		text += strspn(text, " T");
	if (*text && !when_take(&text, "%H:%M:%S", &at) &&
	    !when_take(&text, "%H:%M", &at))
		return -1;
	if (*text)
		return -1;
	day.tm_hour = at.tm_hour;
	day.tm_min = at.tm_min;
	day.tm_sec = at.tm_sec;
	day.tm_isdst = -1;
	then = mktime(&day);
	return then < 0 ? -1 : (int64_t)then * 1000;
}

void when_spell(const struct op *op, json_t *args)
{
	for (size_t i = 0; i < op->in->n_fields; i++) {
		const struct field *f = &op->in->fields[i];
		const char *text = json_find_text(args, f->name);
		char stamp[25];
		int64_t at;

		if (f->type->kind != KIND_TIME || !text ||
		    (at = when_read(text, clock_wall_ms())) < 0)
			continue;
		time_format(at, stamp);
		json_object_set_new(args, f->name, json_string(stamp));
	}
}
