/*
 * says - an answer told in one line: `created task 002, which waits for 001`.
 *
 * The line is the operation's, in the schema: {FIELD} and {FIELD.FIELD} are parts of the
 * answer, and what stands in brackets is left out where one of its parts is absent, zero or
 * false.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cadre/screen/screen.h"

enum { LIST_MOST = 8 }; /* of a longer list the rest is counted */

/* A line while it is made of an answer. */
struct line {
	const struct cli *cli;
	const struct op *op;
	const json_t *answer;
	struct arena arena;
};

/* Whether a part is empty, false or 0: its bracket is then left out. */
static bool is_nothing(const json_t *value)
{
	return screen_is_empty(value) || json_is_false(value) ||
	       (json_is_integer(value) && !json_integer_value(value));
}

/* The first values of a long list, and how many more there are. */
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

/* The text of a part, FIELD or FIELD.FIELD, or NULL where it is absent; `*nothing` where it
 * tells nothing. */
static const char *part_text(struct line *l, const char *name, size_t n, bool *nothing)
{
	const char *path = arena_strndup(&l->arena, name, n), *dot = strchr(path, '.');
	const char *first = dot ? arena_strndup(&l->arena, path, (size_t)(dot - path))
				: path;
	const struct record *r = l->op->out;
	const struct field *field = field_find(r, first);
	const json_t *record = l->answer, *value;

	if (field && dot) {
		record = json_object_get(record, first);
		r = field->type->record;
		field = field_find(r, dot + 1);
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

/* Appends a piece of the line without brackets: false where a part of it tells nothing. */
static bool add_piece(struct line *l, const char *s, size_t n, struct text *out)
{
	bool nothing = false;

	for (const char *end = s + n; s < end;) {
		size_t plain = strcspn(s, "{");
		const char *text;
		bool silent;

		if (plain >= (size_t)(end - s)) {
			text_add(out, s, (size_t)(end - s));
			break;
		}
		text_add(out, s, plain);
		s += plain + 1;
		silent = *s == '?';
		s += silent;
		plain = strcspn(s, "}");
		text = part_text(l, s, plain, &nothing);
		if (!silent)
			text_addf(out, "%s", text ? text : "-");
		s += plain + 1;
	}
	return !nothing;
}

static char *make_line(const struct cli *cli, const struct op *op, const char *said,
		       const json_t *answer)
{
	struct line l = { .cli = cli, .op = op, .answer = answer };
	struct text out = { 0 };

	for (const char *s = said; *s;) {
		const bool bracket = *s == '[';
		const size_t n = strcspn(s + bracket, bracket ? "]" : "["),
			     before = out.len;

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
	return make_line(cli, op, op->says, answer);
}

void screen_next(const struct cli *cli, const struct op *op, const json_t *answer)
{
	char *line = make_line(cli, op, op->next, answer);

	cli_tell("next: %s", line);
	free(line);
}

void screen_says(const struct cli *cli, const struct op *op, const json_t *answer)
{
	char *line = screen_line(cli, op, answer);

	if (*line)
		cli_prose(cli, line, 0);
	free(line);
}
