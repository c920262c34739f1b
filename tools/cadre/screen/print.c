/*
 * print - an answer as people read it, from what the schema says of it.
 *
 * The first list of an answer is a table; a single record is lines of key and
 * value with its own lists as tables below; messages are blocks with their
 * text.  Times are relative on a terminal and ISO elsewhere.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "tools/cadre/cli.h"

/*~ The answer on a terminal.  Station 12 of 12.
 *
 * The answer came back as JSON, and the table of the operation tells how to show it: which
 * list is a table and with which columns, what is a time, what is a state.  So this file
 * knows as little of tasks as all the doors before it.  Texts are other people's: an agent
 * may have written them, so what would drive a terminal is shown as a question mark.
 *
 * When the last byte is written, and only then, the client tells the host that the claim
 * has arrived.  Had the shell been killed a moment earlier, the task would be pending again
 * now, and the next claim would find it.
 *
 * That was the way of every call.  Where to go from here: docs/state.md has the tables and
 * views, storage/message.sql decides about messages as storage/task.sql does about
 * tasks, core/host/guests/ has the guests of VMs, and tests/op/ tells most of what cadre
 * does as stories that can be run.  The first station is where it began.
 *
 * Next: tools/cadre/main.c
 */
enum { INDENT = 2, VALUE_MOST = 60 };

static const char *dim(const struct cli *cli)
{
	return cli->color ? "\033[2m" : "";
}

static const char *plain(const struct cli *cli)
{
	return cli->color ? "\033[0m" : "";
}

void print_json(const json_t *json)
{
	json_dumpf(json, stdout, JSON_COMPACT | JSON_ENCODE_ANY);
	putchar('\n');
}

/* --- values -------------------------------------------------------------------- */

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
	int64_t far = (now > ms ? now - ms : ms - now) / 1000;
	size_t i = 0;

	while (far >= units[i].below)
		i++;
	if (far < 2)
		snprintf(out, 32, "now");
	else
		snprintf(out, 32, now > ms ? "%lld %s ago" : "in %lld %s",
			 (long long)(far / units[i].unit), units[i].name);
}

static bool is_empty(const json_t *value)
{
	return !value || json_is_null(value) ||
	       (json_is_array(value) && !json_array_size(value)) ||
	       (json_is_string(value) && !json_string_length(value)) ||
	       (json_is_object(value) && !json_object_size(value));
}

static const char *time_text(const struct cli *cli, struct arena *a, const char *iso)
{
	char ago[32];
	int64_t ms = time_parse(iso);

	if (!cli->terminal || ms < 0)
		return iso;
	print_ago(ms, clock_wall_ms(), ago);
	return arena_strdup(a, ago);
}

/* A value on one line: of a record its first field, which names it. */
static const char *value_text(const struct cli *cli, struct arena *a,
			      const struct field *field, const json_t *value)
{
	const char *text, *all = "";
	const json_t *item;
	size_t i;

	if (is_empty(value))
		return "-";
	if (json_is_array(value)) {
		json_array_foreach(value, i, item)
			all = arena_printf(a, "%s%s%s", all, *all ? ", " : "",
					   value_text(cli, a, field, item));
		return all;
	}
	if (json_is_boolean(value))
		return json_is_true(value) ? "yes" : "no";
	if (json_is_integer(value))
		return arena_printf(a, "%lld", (long long)json_integer_value(value));
	if (json_is_object(value) && field->type->kind == KIND_RECORD)
		return value_text(cli, a, &field->type->record->fields[0],
				  json_object_get(value,
						  field->type->record->fields[0].name));
	text = json_string_value(value);
	if (text && field->type->kind == KIND_TIME)
		return time_text(cli, a, text);
	if (!text) {
		char *dump = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

		text = arena_strdup(a, dump);
		free(dump);
	}
	return text;
}

/* A number that people read, and give, for the id that the field before it tells. */
static bool is_number(const struct field *field)
{
	return field->type->given == GIVEN_NUMBER;
}

/* The field of the number that stands for the id in `field`, if this record tells one. */
static const struct field *number_of(const struct record *r, const struct field *field,
				     const json_t *record)
{
	const struct field *next = field + 1;

	return next < r->fields + r->n_fields && is_number(next) &&
			       json_is_integer(json_object_get(record, next->name))
		       ? next
		       : NULL;
}

/* A field of a record on one line. */
static const char *field_text(const struct cli *cli, struct arena *a,
			      const struct record *r, const struct field *field,
			      const json_t *record)
{
	const struct field *number = is_number(field) ? field
						      : number_of(r, field, record);
	const json_t *value =
		json_object_get(record, number ? number->name : field->name);

	if (number && json_is_integer(value))
		return arena_printf(a, "#%lld", (long long)json_integer_value(value));
	return value_text(cli, a, field, value);
}

/* --- tables --------------------------------------------------------------------- */

static bool is_list(const struct field *field)
{
	return field->flags & FIELD_LIST && field->type->kind == KIND_RECORD;
}

static bool any_has(const json_t *rows, const char *name)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
		if (!is_empty(json_object_get(row, name)))
			return true;
	return false;
}

/* A terminal has people behind it, and recorders: it shows no secrets. */
static bool is_hidden(const struct cli *cli, const struct field *field)
{
	return cli->terminal && field->type->given == GIVEN_SECRET;
}

/* The columns that are said, else those of all fields that some row has. */
static size_t choose_columns(const struct cli *cli, const struct record *r,
			     const char *const *columns, const json_t *rows,
			     const struct field **chosen, size_t most)
{
	size_t n = 0;

	for (size_t i = 0; columns && columns[i] && n < most; i++)
		if ((chosen[n] = field_find(r, columns[i])))
			n++;
	for (size_t i = 0; !columns && i < r->n_fields && n < most; i++)
		if (!is_hidden(cli, &r->fields[i]) && !is_number(&r->fields[i]) &&
		    any_has(rows, r->fields[i].name))
			chosen[n++] = &r->fields[i];
	return n;
}

static void add_heading(struct table *t, const char *name)
{
	char *text = arena_strdup(&t->arena, name);

	for (char *s = text; *s; s++)
		*s = (char)(*s == '_' ? ' ' : *s >= 'a' && *s <= 'z' ? *s - 32 : *s);
	table_cell(t, text);
}

static void print_table(const struct cli *cli, const struct record *r,
			const char *const *columns, const json_t *rows, bool head,
			int indent)
{
	const struct field *chosen[32];
	struct table t = { 0 };
	const json_t *row;
	size_t i;

	t.n_columns = choose_columns(cli, r, columns, rows, chosen, 32);
	if (!t.n_columns)
		return;
	for (size_t k = 0; head && k < t.n_columns; k++)
		add_heading(&t, chosen[k]->name);
	json_array_foreach(rows, i, row)
		for (size_t k = 0; k < t.n_columns; k++)
			table_cell(&t, field_text(cli, &t.arena, r, chosen[k], row));
	table_print(cli, &t, head, indent);
}

void print_rows(const struct cli *cli, const struct record *r, const char *const *columns,
		const json_t *rows, bool head)
{
	print_table(cli, r, columns, rows, head, 0);
}

/* --- messages -------------------------------------------------------------------- */

static void print_indented(const char *text, int indent)
{
	while (*text) {
		size_t n = strcspn(text, "\n");

		printf("%*s%.*s\n", n ? indent : 0, "", (int)n, text);
		text += n + (text[n] == '\n');
	}
}

static const char *text_of(const json_t *json, const char *name)
{
	const char *s = json_string_value(json_object_get(json, name));

	return s ? s : "";
}

static void print_message(const struct cli *cli, const struct record *r, const json_t *m)
{
	struct arena a = { 0 };
	long long attempt = json_integer_value(json_object_get(m, "attempt"));

	printf("%s%s%s -> %s", cli->color ? "\033[1m" : "",
	       cli_plain(&a, text_of(m, "from"), false), plain(cli),
	       cli_plain(&a, text_of(m, "to"), false));
	if (strcmp(text_of(m, "message_type"), "text"))
		printf("  %s", cli_plain(&a, text_of(m, "message_type"), false));
	if (!strcmp(text_of(m, "priority"), "urgent"))
		printf("  %surgent%s", cli->color ? "\033[31m" : "", plain(cli));
	if (attempt > 1)
		printf("  attempt %lld", attempt);
	if (*text_of(m, "thread"))
		printf("  thread %s", cli_plain(&a, text_of(m, "thread"), false));
	printf("  %s%s  %s%s\n", dim(cli), time_text(cli, &a, text_of(m, "timestamp")),
	       field_text(cli, &a, r, &r->fields[0], m), plain(cli));
	print_indented(cli_plain(&a, text_of(m, "content"), true), 2 * INDENT);
	arena_release(&a);
}

static void print_list(const struct cli *cli, const struct op *op,
		       const struct field *field, const json_t *rows, int indent)
{
	bool first = is_list(&op->out->fields[0]) ? field == &op->out->fields[0] : true;
	const json_t *row;
	size_t i;

	if (field == op->prints) {
		json_array_foreach(rows, i, row) {
			if (i)
				putchar('\n');
			print_message(cli, field->type->record, row);
		}
		return;
	}
	print_table(cli, field->type->record, first && !indent ? op->columns : NULL, rows,
		    true, indent);
}

/* --- records ---------------------------------------------------------------------- */

static bool is_long(const char *text)
{
	return strchr(text, '\n') || strlen(text) > VALUE_MOST;
}

/* Texts that are long get lines of their own, below their name. */
static void print_value(const struct cli *cli, const struct record *r,
			const struct field *field, const json_t *record, int indent,
			int width)
{
	struct arena a = { 0 };
	const json_t *value = json_object_get(record, field->name);
	const char *text = field_text(cli, &a, r, field, record);

	printf("%*s%s%-*s%s", indent, "", dim(cli), width, field->name, plain(cli));
	if (json_is_string(value) && is_long(text)) {
		putchar('\n');
		print_indented(cli_plain(&a, text, true), indent + INDENT);
	} else {
		printf("  %s\n", cli_plain(&a, text, false));
	}
	arena_release(&a);
}

static bool is_shown(const struct field *field, const json_t *record)
{
	return !is_number(field) && !is_empty(json_object_get(record, field->name));
}

static bool is_nested(const struct field *field)
{
	return field->type->kind == KIND_RECORD;
}

static int names_width(const struct record *r, const json_t *record)
{
	size_t width = 0;

	for (size_t i = 0; i < r->n_fields; i++)
		if (!is_nested(&r->fields[i]) && is_shown(&r->fields[i], record) &&
		    strlen(r->fields[i].name) > width)
			width = strlen(r->fields[i].name);
	return (int)width;
}

static void print_record(const struct cli *cli, const struct record *r,
			 const char *const *columns, const json_t *record, int indent)
{
	int width = names_width(r, record);

	for (size_t i = 0; i < r->n_fields; i++) {
		const struct field *field = &r->fields[i];
		const json_t *value = json_object_get(record, field->name);

		if (!is_shown(field, record) || is_hidden(cli, field))
			continue;
		if (!is_nested(field)) {
			print_value(cli, r, field, record, indent, width);
			continue;
		}
		printf("%*s%s%s%s\n", indent, "", dim(cli), field->name, plain(cli));
		if (field->flags & FIELD_LIST) {
			print_table(cli, field->type->record, columns, value, true,
				    indent + INDENT);
			columns = NULL; /* they were for the first list */
		} else {
			print_record(cli, field->type->record, NULL, value,
				     indent + INDENT);
		}
	}
}

/* --- answers ------------------------------------------------------------------------ */

static void print_lists(const struct cli *cli, const struct op *op, const json_t *answer)
{
	const struct record *r = op->out;
	bool any = false;

	for (size_t i = 0; i < r->n_fields; i++) {
		const struct field *field = &r->fields[i];

		if (!is_list(field) || !is_shown(field, answer))
			continue;
		if (any)
			printf("\n%s%s%s\n", dim(cli), field->name, plain(cli));
		print_list(cli, op, field, json_object_get(answer, field->name), 0);
		any = true;
	}
	if (!any)
		printf("no %s\n", r->fields[0].name);
}

/* How to get what the answer had no room for, as options of the command, and whether
 * there may be more that nobody looked at. */
static void print_more(const struct cli *cli, const struct op *op, const json_t *answer)
{
	const json_t *next = page_next(op, answer),
		     *task = json_object_get(answer, "task");
	struct arena a = { 0 };
	char *name;

	if (next) {
		name = arena_strdup(&a, page_argument(op)->name);
		for (char *s = name; *s; s++)
			*s = (char)(*s == '_' ? '-' : *s);
		printf("%sthere is more: --%s %s%s\n", dim(cli), name,
		       cli_plain(&a, value_text(cli, &a, page_argument(op), next), false),
		       plain(cli));
	} else if (json_is_true(json_object_get(answer, "more"))) {
		printf("%sthere is more%s\n", dim(cli), plain(cli));
	} else if (json_is_true(json_object_get(task, "more"))) {
		printf("%sthere is more: cadre task part %s%s\n", dim(cli),
		       text_of(task, "id"), plain(cli));
	}
	if (json_is_false(json_object_get(answer, "complete")))
		printf("%stime ran out: not all was looked at%s\n", dim(cli), plain(cli));
	arena_release(&a);
}

void print_answer(const struct cli *cli, const struct op *op, const json_t *answer)
{
	const struct record *r = op->out;
	const struct field *first = r->n_fields ? &r->fields[0] : NULL;

	if (!first)
		return;
	if (is_list(first)) {
		print_lists(cli, op, answer);
	} else if (is_nested(first) && !is_shown(first, answer)) {
		printf("no %s\n", first->name);
	} else if (is_nested(first)) {
		print_record(cli, first->type->record, NULL,
			     json_object_get(answer, first->name), 0);
		/* Prints fields beside the record, unless the record has a field of
		 * that name. */
		for (size_t i = 1; i < r->n_fields; i++)
			if (is_shown(&r->fields[i], answer) &&
			    !is_nested(&r->fields[i]) &&
			    !field_find(first->type->record, r->fields[i].name))
				print_value(cli, r, &r->fields[i], answer, 0, 0);
	} else {
		print_record(cli, r, op->columns, answer, 0);
	}
	print_more(cli, op, answer);
}

bool print_hides(const struct cli *cli, const struct record *r)
{
	for (size_t i = 0; i < r->n_fields; i++)
		if (is_hidden(cli, &r->fields[i]) ||
		    (is_list(&r->fields[i]) &&
		     print_hides(cli, r->fields[i].type->record)))
			return true;
	return false;
}
