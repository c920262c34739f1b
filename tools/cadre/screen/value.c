/*
 * value - turns the values of an answer into texts for people.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/money.h"
#include "core/home/project.h"
#include "tools/cadre/screen/screen.h"

const char *screen_dim(const struct cli *cli)
{
	return cli->color ? "\033[2m" : "";
}

const char *screen_plain(const struct cli *cli)
{
	return cli->color ? "\033[0m" : "";
}

/* --- fields ------------------------------------------------------------------------- */

bool screen_is_list(const struct field *field)
{
	return field->flags & FIELD_LIST && field->type->kind == KIND_RECORD;
}

bool screen_is_nested(const struct field *field)
{
	return field->type->kind == KIND_RECORD;
}

bool screen_is_hidden(const struct field *field)
{
	return field->type->given == GIVEN_SECRET;
}

const char *screen_label(struct arena *a, const struct field *field)
{
	const char *name = field->name, *end = "";
	size_t n = strlen(name);
	char *text;

	if (field->type->kind == KIND_TIME && n > 3 && !strcmp(name + n - 3, "_at"))
		n -= 3;
	else if (field->type->kind == KIND_TIME && n > 6 &&
		 !strcmp(name + n - 6, "_until"))
		n -= 6, end = " ends";
	text = arena_printf(a, "%.*s%s", (int)n, name, end);
	for (char *s = text; *s; s++)
		*s = (char)(*s == '_' ? ' ' : *s);
	return text;
}

const char *screen_heading(struct arena *a, const char *words)
{
	/* Members keep their names for programs. These headings say more to people. */
	static const char *const headings[][2] = {
		{ "seq", "id" },       { "message id", "id" }, { "timestamp", "sent" },
		{ "read", "state" },   { "content", "text" },  { "queued", "mail" },
		{ "fetched", "seen" },
	};
	char *text;

	for (size_t i = 0; i < sizeof(headings) / sizeof(*headings); i++)
		if (!strcmp(words, headings[i][0]))
			words = headings[i][1];
	text = arena_strdup(a, words);
	for (char *s = text; *s; s++)
		*s = (char)(*s == '_' ? ' ' : *s >= 'a' && *s <= 'z' ? *s - 32 : *s);
	return text;
}

/* Whether a flag or a number has its default value. */
static bool is_usual(const struct field *field, const json_t *value)
{
	if (!(field->flags & FIELD_DEFAULT))
		return false;
	if (json_is_boolean(value))
		return json_is_true(value) == (field->def_int != 0);
	return json_is_integer(value) && json_integer_value(value) == field->def_int;
}

bool screen_is_shown(const struct field *field, const json_t *record)
{
	const json_t *value = json_object_get(record, field->name);

	/* The field `blocked_by` says the same, and more. */
	if (!strcmp(field->name, "depends_on") &&
	    json_array_size(value) ==
		    json_array_size(json_object_get(record, "blocked_by")))
		return false;
	if (!strcmp(field->name, "ready") && json_is_true(value) &&
	    *json_text_at(record, "status"))
		return false; /* the status says so */
	return !screen_is_number(field) && !screen_is_empty(value) &&
	       !is_usual(field, value);
}

/* --- values -------------------------------------------------------------------------- */

void print_ago(int64_t ms, int64_t now, char out[32])
{
	static const struct {
		int64_t below, unit;
		const char *name;
	} units[] = {
		{ 60, 1, "s" },
		{ 3600, 60, "min" },
		{ 48 * 3600, 3600, "h" },
		{ INT64_MAX, 24 * 3600, "days" },
	};
	/* A time to come is rounded up, so that a lease of 15 minutes ends in 15 minutes. */
	int64_t far = now > ms ? (now - ms) / 1000 : (ms - now + 999) / 1000, part;
	size_t i = 0;

	while (far >= units[i].below)
		i++;
	part = (far + (now > ms ? 0 : units[i].unit - 1)) / units[i].unit;
	if (far < 2)
		snprintf(out, 32, "now");
	else
		snprintf(out, 32, now > ms ? "%lld %s ago" : "in %lld %s",
			 (long long)part, units[i].name);
}

bool screen_is_empty(const json_t *value)
{
	return !value || json_is_null(value) ||
	       (json_is_array(value) && !json_array_size(value)) ||
	       (json_is_string(value) && !json_string_length(value)) ||
	       (json_is_object(value) && !json_object_size(value));
}

static bool value_same_day(const struct tm *a, const struct tm *b)
{
	return a->tm_year == b->tm_year && a->tm_yday == b->tm_yday;
}

/* Formats a time for people. With cli->clock, a time of today is shown as hours, minutes and
 * seconds, and any other time as date, hours and minutes. Without cli->clock, a time is shown
 * as an age, and a time of yesterday that is YESTERDAY_H hours old as `yesterday 14:02`. */
static const char *value_clock(const struct cli *cli, struct arena *a, int64_t ms,
			       int64_t now_ms)
{
	enum { YESTERDAY_H = 12, HOUR = 3600, DAY = 24 * HOUR };
	struct tm *(*split)(const time_t *, struct tm *) = cli->utc ? gmtime_r
								    : localtime_r;
	const time_t at = ms / 1000, now = now_ms / 1000, tomorrow = at + DAY;
	struct tm then, today, next;
	char text[32];

	if (!split(&at, &then) || !split(&now, &today) || !split(&tomorrow, &next))
		return "-";
	if (cli->clock)
		strftime(text, sizeof(text),
			 value_same_day(&then, &today) ? "%H:%M:%S" : "%Y-%m-%d %H:%M",
			 &then);
	else if (now - at >= YESTERDAY_H * HOUR && value_same_day(&next, &today))
		strftime(text, sizeof(text), "yesterday %H:%M", &then);
	else
		print_ago(ms, now_ms, text);
	return arena_strdup(a, text);
}

/* Formats a time that is known to the minute. */
static const char *rough_time(const struct cli *cli, struct arena *a, const char *iso)
{
	const int64_t ms = time_parse(iso), far = clock_wall_ms() - ms;

	return cli->people && !cli->clock && ms >= 0 && far >= 0 && far < 60000
		       ? "< 1 min ago"
		       : screen_time(cli, a, iso);
}

const char *screen_time(const struct cli *cli, struct arena *a, const char *iso)
{
	int64_t ms = time_parse(iso);

	if (ms < 0)
		return iso;
	if (!cli->people)
		return arena_printf(a, "%.19sZ", iso);
	return value_clock(cli, a, ms, clock_wall_ms());
}

/* Writes a record on one line. The line has the value of the first field, which names the
 * record. If the second field holds a state other than the first state of its type, the line
 * also has this state. */
static const char *record_value(const struct cli *cli, struct arena *a,
				const struct record *r, const json_t *value)
{
	const struct field *state = r->n_fields < 2 ? NULL : &r->fields[1];
	const char *name = screen_value(cli, a, &r->fields[0],
					json_object_get(value, r->fields[0].name)),
		   *now;

	if (!state || state->type->kind != KIND_ENUM)
		return name;
	now = json_find_text(value, state->name);
	return now && strcmp(now, state->type->choices[0].name) != 0
		       ? arena_printf(a, "%s (%s)", name, now)
		       : name;
}

static const char *money_text(struct arena *a, int64_t millionths)
{
	char text[32];

	money_write(millionths, text);
	return arena_strdup(a, text);
}

/* Formats a number of a budget. A terminal gets a comma after each third digit. */
static const char *budget_text(const struct cli *cli, struct arena *a, long long n)
{
	const char *digits = arena_printf(a, "%lld", n);
	const size_t all = strlen(digits);
	char text[32];
	size_t at = 0;

	if (!cli->people || n < 0)
		return digits;
	for (size_t i = 0; i < all; i++) {
		text[at++] = digits[i];
		if ((all - i) % 3 == 1 && i + 1 < all)
			text[at++] = ',';
	}
	text[at] = '\0';
	return arena_strdup(a, text);
}

/* Formats percents. A terminal gets a bar. */
static const char *share_text(const struct cli *cli, struct arena *a, long long percent)
{
	enum { CELLS = 10, BYTES = 3 };
	const long long shown = percent < 0 ? 0 : percent > 100 ? 100 : percent;
	const int full = (int)(shown * CELLS / 100);

	if (!cli->people)
		return arena_printf(a, "%lld", percent);
	return arena_printf(a, "%.*s%.*s %3lld %%", full * BYTES, "██████████",
			    (CELLS - full) * BYTES, "░░░░░░░░░░", percent);
}

/* Formats an amount. A terminal gets 12,000 for 12000. */
static const char *value_amount(const struct cli *cli, struct arena *a, long long n)
{
	if (!cli->people || (n > -1000 && n < 1000))
		return arena_printf(a, "%lld", n);
	return arena_printf(a, "%s,%03lld", value_amount(cli, a, n / 1000),
			    n < 0 ? -(n % 1000) : n % 1000);
}

static const char *number_text(const struct cli *cli, struct arena *a,
			       const struct field *field, long long n)
{
	if (field->type->given == GIVEN_MONEY)
		return money_text(a, n);
	if (field->type->given == GIVEN_SHARE)
		return share_text(cli, a, n);
	if (field->type->given == GIVEN_BUDGET)
		return value_amount(cli, a, n);
	return arena_printf(a, "%lld", n);
}

/* Formats a folder. On a terminal, a worktree of git is shown with its branch. */
static const char *folder_text(const struct cli *cli, struct arena *a, const char *path)
{
	char branch[256];

	return cli->people && project_branch(path, branch)
		       ? arena_printf(a, "%s, branch %s", path, branch)
		       : path;
}

/* The text for an absent value. */
static const char *screen_none(const struct cli *cli)
{
	return cli->people ? "-" : "";
}

/* Formats a value on one line. */
const char *screen_value(const struct cli *cli, struct arena *a,
			 const struct field *field, const json_t *value)
{
	const char *text, *all = "";
	const json_t *item;
	size_t i;

	if (screen_is_empty(value))
		return screen_none(cli);
	if (json_is_array(value)) {
		json_array_foreach(value, i, item)
			all = arena_printf(a, "%s%s%s", all, *all ? ", " : "",
					   screen_value(cli, a, field, item));
		return all;
	}
	if (json_is_boolean(value))
		return json_is_true(value) ? "yes" : "no";
	if (json_is_integer(value))
		return number_text(cli, a, field, (long long)json_integer_value(value));
	if (json_is_object(value) && field->type->kind == KIND_RECORD)
		return record_value(cli, a, field->type->record, value);
	text = json_string_value(value);
	if (text && field->type->given == GIVEN_ROUGH)
		return rough_time(cli, a, text);
	if (text && field->type->kind == KIND_TIME)
		return screen_time(cli, a, text);
	if (text && field->type->given == GIVEN_FOLDER)
		return folder_text(cli, a, text);
	if (!text) {
		char *dump = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

		text = arena_strdup(a, dump);
		free(dump);
	}
	return text;
}

bool screen_is_number(const struct field *field)
{
	return field->type->given == GIVEN_NUMBER;
}

/* Finds the field whose number replaces the id in `field`. NULL: the record has no such number,
 * or the field is no text, and so no id. */
static const struct field *
value_number_of(const struct record *r, const struct field *field, const json_t *record)
{
	const struct field *next = field + 1;

	return field->type->kind == KIND_TEXT && next < r->fields + r->n_fields &&
			       screen_is_number(next) &&
			       json_is_integer(json_object_get(record, next->name))
		       ? next
		       : NULL;
}

/* Finds the template for the detail of an event. `kind` is the event's kind. If the kind has no
 * template, returns "{}", which stands for the whole detail. */
static const char *value_words_of(const char *kind)
{
	for (size_t i = 0; i < event_count; i++)
		if (!strcmp(event_table[i].name, kind) && event_table[i].says)
			return event_table[i].says;
	return "{}";
}

/* Returns the part that has the name `key` in a detail. If `key` is "", returns the whole
 * detail. NULL: the detail has no such part. */
static const char *value_part_of(struct arena *a, const char *detail, const char *key)
{
	json_t *parts = *key ? json_loads(detail, 0, NULL) : NULL;
	const json_t *part = json_object_get(parts, key);
	const char *text = *key ? NULL : detail;

	if (json_is_string(part))
		text = arena_strdup(a, json_string_value(part));
	else if (json_is_integer(part))
		text = arena_printf(a, "%lld", (long long)json_integer_value(part));
	json_decref(parts);
	return text;
}

/* Fills the template of an event's kind with parts of the detail. If a part is missing, returns
 * the detail unchanged. */
static const char *event_words(const struct cli *cli, struct arena *a, const char *kind,
			       const char *detail)
{
	const char *at = value_words_of(kind), *out = "", *part;

	while (*at) {
		const size_t plain = strcspn(at, "{"), n = strcspn(at + plain, "}");

		out = arena_printf(a, "%s%.*s", out, (int)plain, at);
		at += plain;
		if (!*at)
			break;
		part = value_part_of(a, detail, arena_strndup(a, at + 1, n - 1));
		if (!part)
			return detail;
		out = arena_printf(a, "%s%s", out, part);
		at += n + (at[n] == '}');
	}
	return *out ? out : screen_none(cli);
}

/* Whether `field` names the agent who did something, and the record says that the operator
 * acted as this agent. */
static bool is_acted_for(const struct field *field, const json_t *record)
{
	return !strcmp(field->name, "by") &&
	       json_is_true(json_object_get(record, "as_operator"));
}

/* A pending task either can be claimed or waits for other tasks. Returns the word for that, or
 * NULL if `field` is not the status of a pending task. */
static const char *pending_word(const struct record *r, const struct field *field,
				const json_t *record)
{
	if (strcmp(field->name, "status") != 0 || !field_find(r, "ready") ||
	    strcmp(json_text_at(record, "status"), "pending") != 0)
		return NULL;
	return json_is_true(json_object_get(record, "ready")) ? "ready" : "waiting";
}

/* Whether `field` is the state of a copy that its recipient got and has not acknowledged. */
static bool is_seen(const struct field *field, const json_t *record)
{
	const char *state = json_text_at(record, "state");

	return !strcmp(field->name, "state") &&
	       (!strcmp(state, "fetched") ||
		(!strcmp(state, "queued") && json_int_at(record, "attempt") > 0));
}

/* Of several recipients of a message, some may have acknowledged it. Returns the words for that,
 * or NULL if `field` does not say how far the recipients have read the message. */
static const char *value_acked_by(struct arena *a, const struct field *field,
				  const json_t *record)
{
	const long long acked = json_int_at(record, "acked_by"),
			all = json_int_at(record, "recipients");

	return strcmp(field->name, "read") != 0 || !acked || acked == all
		       ? NULL
		       : arena_printf(a, "%lld of %lld acked", acked, all);
}

/* Whether cadre itself wrote a message, in the operator's name. */
static bool value_is_notice(const json_t *message)
{
	static const char *const written[] = { "", "text", "request", "response" };
	const char *type = json_text_at(message, "message_type");
	const size_t n = sizeof(written) / sizeof(*written);
	size_t i = 0;

	while (i < n && strcmp(type, written[i]) != 0)
		i++;
	return i == n && !strcmp(json_text_at(message, "from"), "operator");
}

/* Formats a field of a record on one line. */
const char *screen_field(const struct cli *cli, struct arena *a, const struct record *r,
			 const struct field *field, const json_t *record)
{
	const struct field *number =
		screen_is_number(field) ? field : value_number_of(r, field, record);
	const json_t *value =
		json_object_get(record, number ? number->name : field->name);

	if (cli->people && !strcmp(field->name, "from") && value_is_notice(record))
		return "cadre";
	if (!strcmp(field->name, "status") && *json_text_at(record, "blocked") &&
	    !strcmp(json_text_at(record, "status"), "working"))
		return "blocked"; /* the agent's work stands still */
	if (cli->people && !strcmp(field->name, "title") && field_find(r, "status") &&
	    *json_text_at(record, "blocked"))
		return arena_printf(a, "%s: %s", screen_value(cli, a, field, value),
				    json_text_at(record, "blocked"));
	if (cli->people && !strcmp(field->name, "task") && *json_text_at(record, "also"))
		return arena_printf(a, "%s, %s", screen_value(cli, a, field, value),
				    json_text_at(record, "also"));
	if (cli->people && !strcmp(field->name, "owner") && !value &&
	    *json_text_at(record, "assignee"))
		return arena_printf(a, "for %s", json_text_at(record, "assignee"));
	if (cli->people && is_seen(field, record))
		return "seen";
	if (cli->people && value_acked_by(a, field, record))
		return value_acked_by(a, field, record);
	if (pending_word(r, field, record))
		return pending_word(r, field, record);
	if (field->type->given == GIVEN_EVENT && json_is_string(value))
		return event_words(cli, a, json_find_text(record, "event"),
				   json_string_value(value));
	if (field->type->given == GIVEN_BUDGET && json_is_integer(value) &&
	    !strcmp(json_text_at(record, "kind"), "cost"))
		return money_text(a, json_integer_value(value));
	if (field->type->given == GIVEN_BUDGET && json_is_integer(value))
		return budget_text(cli, a, json_integer_value(value));
	if (number && json_is_integer(value))
		return arena_printf(a, "#%lld", (long long)json_integer_value(value));
	if (is_acted_for(field, record))
		return arena_printf(a, "as %s", screen_value(cli, a, field, value));
	return screen_value(cli, a, field, value);
}
