/*
 * sentence - writes an answer as one line, such as `created task 002, which waits for 001`.
 *
 * The schema defines the line for each operation. In the line, {FIELD} and {FIELD.FIELD} stand
 * for parts of the answer. A text in brackets is left out if one of its parts is absent, zero
 * or false. {?FIELD}, {?FIELD=VALUE} and {!FIELD} print nothing, and are such parts, too:
 * {?FIELD=VALUE} is absent if the answer has another value, however a screen prints the value, and
 * {!FIELD} is absent if the field has a value.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/cadre/screen/screen.h"

enum { LIST_MOST = 8 }; /* values of a list that are printed; others are counted */

const struct field *screen_part(struct arena *a, const char *path,
				const struct record **r, const json_t **record)
{
	const char *dot = strchr(path, '.');
	const struct field *field =
		field_find(*r, dot ? arena_strndup(a, path, (size_t)(dot - path)) : path);

	if (!field || !dot)
		return field;
	*record = json_object_get(*record, field->name);
	*r = field->type->record;
	return field_find(*r, dot + 1);
}

/* The data from which a line is made. */
struct line {
	const struct cli *cli;
	const struct record *r;
	const json_t *answer;
	struct arena arena;
};

/* Whether a part is empty, false or 0. A text in brackets with such a part is left out. */
static bool is_nothing(const json_t *value)
{
	return screen_is_empty(value) || json_is_false(value) ||
	       (json_is_integer(value) && !json_integer_value(value));
}

/* Writes the first values of a long list, and the number of the other values. */
static const char *list_text(struct line *l, const struct field *field,
			     const json_t *list)
{
	const size_t n = json_array_size(list);
	json_t *first = json_array();
	const char *text;

	for (size_t i = 0; i < LIST_MOST; i++)
		json_array_append(first, json_array_get(list, i));
	text = arena_printf(&l->arena, "%s and %zu more",
			    screen_value(l->cli, &l->arena, field, first), n - LIST_MOST);
	json_decref(first);
	return cli_plain(&l->arena, text, false);
}

/* The values that a field has in the rows of a list. */
static json_t *column_of(const json_t *rows, const char *name)
{
	json_t *column = json_array();
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
		json_array_append(column, json_object_get(row, name));
	return column;
}

/* The text of a part of the answer. `name` is FIELD or FIELD.FIELD. NULL: the part is absent.
 * `*nothing` becomes true if the part is absent, zero or false. */
static const char *part_text(struct line *l, const char *name, size_t n, bool *nothing)
{
	const char *path = arena_strndup(&l->arena, name, n);
	const struct record *r = l->r;
	const json_t *record = l->answer, *value;
	const struct field *field = screen_part(&l->arena, path, &r, &record);
	json_t *column;
	const char *text;

	if (field && json_is_array(record)) {
		column = column_of(record, field->name);
		text = json_array_size(column) > LIST_MOST
			       ? list_text(l, field, column)
			       : screen_value(l->cli, &l->arena, field, column);
		json_decref(column);
		return cli_plain(&l->arena, text, false);
	}
	value = field ? json_object_get(record, field->name) : NULL;
	*nothing |= is_nothing(value);
	if (screen_is_empty(value))
		return NULL;
	if (json_array_size(value) > LIST_MOST)
		return list_text(l, field, value);
	return cli_plain(&l->arena, screen_field(l->cli, &l->arena, r, field, record),
			 false);
}

/* Whether a part of the answer has a value, as the answer spells the value. */
static bool part_is(struct line *l, const char *path, const char *word)
{
	const struct record *r = l->r;
	const json_t *record = l->answer, *value;
	const struct field *field = screen_part(&l->arena, path, &r, &record);

	value = field ? json_object_get(record, field->name) : NULL;
	return json_is_string(value) && !strcmp(json_string_value(value), word);
}

/* Whether the part ?FIELD has a value, ?FIELD=VALUE has this value, or !FIELD has no value. */
static bool part_counts(struct line *l, const char *s, size_t n)
{
	const bool absent = *s++ == '!';
	const size_t name = (size_t)(strchrnul(s, '=') - s);
	bool nothing = false;

	if (name < --n)
		return part_is(l, arena_strndup(&l->arena, s, name),
			       arena_strndup(&l->arena, s + name + 1, n - name - 1));
	part_text(l, s, n, &nothing);
	return nothing == absent;
}

/* Appends a piece of the line, without the brackets around the piece. Returns false if a part
 * of the piece is absent, zero or false. */
static bool add_piece(struct line *l, const char *s, size_t n, struct text *out)
{
	bool nothing = false;

	for (const char *end = s + n; s < end;) {
		size_t plain = strcspn(s, "{");
		const char *text;

		if (plain >= (size_t)(end - s)) {
			text_add(out, s, (size_t)(end - s));
			break;
		}
		text_add(out, s, plain);
		s += plain + 1;
		plain = strcspn(s, "}");
		if (*s == '?' || *s == '!') {
			nothing |= !part_counts(l, s, plain);
		} else {
			text = part_text(l, s, plain, &nothing);
			text_addf(out, "%s", text ? text : "-");
		}
		s += plain + 1;
	}
	return !nothing;
}

char *screen_sentence(const struct cli *cli, const struct record *r, const char *said,
		      const json_t *answer)
{
	struct line l = { .cli = cli, .r = r, .answer = answer };
	struct text out = { 0 };

	for (const char *s = said; *s;) {
		const bool bracket = *s == '[';
		const size_t n = strcspn(s + bracket, bracket ? "]" : "["),
			     before = out.len;

		if (*s == '\n' && (!out.len || out.data[out.len - 1] == '\n')) {
			s++; /* nothing is in the line before */
			continue;
		}
		if (!add_piece(&l, s + bracket, n, &out) && bracket)
			out.len = before;
		s += n + 2 * bracket;
	}
	text_add(&out, "", 1);
	arena_release(&l.arena);
	return out.data;
}

char *screen_line(const struct cli *cli, const struct op *op, const json_t *answer)
{
	return screen_sentence(cli, op->out, op->says, answer);
}

void screen_next(const struct cli *cli, const struct op *op, const json_t *answer)
{
	char *line = op->next ? screen_sentence(cli, op->out, op->next, answer) : NULL;
	struct text out = { 0 };

	for (const char *s = line; s && *s;) {
		const char *end = strstr(s, "; ");
		const size_t n = end ? (size_t)(end - s) + 2 : strlen(s);

		if (cli->as && strncmp(s, "cadre --as ", 11) != 0)
			text_addf(&out, "cadre --as %s%.*s", cli->as, (int)n - 5, s + 5);
		else
			text_add(&out, s, n);
		s += n;
	}
	fflush(stdout);
	if (out.len)
		cli_tell("next: %.*s", (int)out.len, out.data);
	text_release(&out);
	free(line);
}

void screen_says(const struct cli *cli, const struct op *op, const json_t *answer)
{
	char *line = screen_line(cli, op, answer);

	if (*line)
		cli_prose(cli, line, 0);
	free(line);
}
