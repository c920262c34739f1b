/*
 * screen_lines - prints the rows of a list as lines: events, messages and hits of a search.
 *
 * The schema names the fields of a line. The last field takes the rest of the line, and is cut
 * at the line's end. An event is told as a sentence, which the schema defines for the event's
 * kind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cadre/screen/screen.h"

enum { LINE_FIELDS = 16, GAP = 2, ENOUGH = 24, NAME_MOST = 16, NAME_LEAST = 10 };

struct lines {
	const struct cli *cli;
	const struct op *op;
	const struct record *r;
	struct arena arena;
	const struct field *fields[LINE_FIELDS];
	size_t width[LINE_FIELDS]; /* 0: the field is left out */
	size_t n, n_cells;
	const char **cells; /* `n` texts for each row */
	bool headed; /* the first row has the names of the fields */
};

/* --- texts ---------------------------------------------------------------------------- */

/* Tells an event as a sentence without its subject, such as `claimed 002: Test it`. */
static const char *lines_sentence(struct lines *l, const char *kind, const json_t *row)
{
	const char *tells = NULL, *out;
	char *line;

	for (size_t i = 0; i < event_count && !tells; i++)
		if (!strcmp(event_table[i].name, kind))
			tells = event_table[i].tells;
	if (!tells)
		return cli_plain(&l->arena, kind, false);
	line = screen_sentence(l->cli, l->r, tells, row);
	out = arena_strdup(&l->arena, line);
	free(line);
	return out;
}

static const char *lines_text(struct lines *l, const struct field *field,
			      const json_t *row)
{
	const json_t *value = json_object_get(row, field->name);

	if (field->type->given == GIVEN_KIND && json_is_string(value))
		return lines_sentence(l, json_string_value(value), row);
	if (l->op->below && screen_is_empty(value))
		return "";
	return cli_plain(&l->arena, screen_field(l->cli, &l->arena, l->r, field, row),
			 false);
}

/* Shortens a list of names to the first name and the number of others, such as `coder +3`. A
 * list may end with a number of names that it leaves out. */
static const char *lines_first_name(struct lines *l, const char *names)
{
	const char *const end = strstr(names, ", "), *last = names;
	long more = 0;

	for (const char *at = end; at; at = strstr(at + 2, ", ")) {
		more++;
		last = at + 2;
	}
	if (*last == '+')
		more += strtol(last + 1, NULL, 10) - 1;
	return arena_printf(&l->arena, "%.*s +%ld", (int)(end - names), names, more);
}

/* --- widths ------------------------------------------------------------------------------ */

/* Chooses the fields of a line. If `rows` is the whole list, fields without a value in any row
 * are left out. */
static void lines_choose(struct lines *l, const json_t *rows, bool whole)
{
	const struct field *field;

	for (size_t i = 0; l->op->lines[i] && *l->op->lines[i] != '|'; i++)
		if (l->n < LINE_FIELDS && (field = field_find(l->r, l->op->lines[i])) &&
		    (!whole || screen_any_has(rows, field->name)))
			l->fields[l->n++] = field;
}

/* Whether the rows, and the rows before them, are of several teams. */
static bool lines_of_teams(const json_t *rows, struct layout *kept)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		const char *team = json_text_at(row, "team");

		if (!*kept->team)
			snprintf(kept->team, sizeof(kept->team), "%s", team);
		kept->teams |= *team && strcmp(team, kept->team) != 0;
	}
	return kept->teams;
}

/* Finds the width of a field. A field without a value in any row is left out. */
static void lines_measure(struct lines *l, size_t field)
{
	bool any = false;

	l->width[field] = 0;
	for (size_t i = field; i < l->n_cells; i += l->n) {
		const size_t width = cli_width(l->cells[i]);

		any |= !(l->headed && i < l->n) && strcmp(l->cells[i], "-") != 0;
		if (width > l->width[field])
			l->width[field] = width;
	}
	if (!any)
		l->width[field] = 0;
}

/* The columns that are left for the last field. */
static size_t lines_rest(const struct lines *l)
{
	size_t taken = 0;

	for (size_t i = 0; i + 1 < l->n; i++)
		taken += l->width[i] ? l->width[i] + GAP : 0;
	return (size_t)l->cli->width > taken ? (size_t)l->cli->width - taken : 0;
}

/* Shortens lists of names that are wider than `most`, unless the line has room. */
static void lines_shorten(struct lines *l, size_t most, size_t enough)
{
	if (lines_rest(l) >= enough)
		return;
	for (size_t i = 0; i < l->n_cells; i++)
		if ((i + 1) % l->n && cli_width(l->cells[i]) > most &&
		    strstr(l->cells[i], ", ")) {
			l->cells[i] = lines_first_name(l, l->cells[i]);
			lines_measure(l, i % l->n);
		}
}

/* Narrows the widest field of names by one column. Times and numbers stay whole. Returns false
 * if no field is wider than `least`. */
static bool lines_narrow(struct lines *l, size_t least)
{
	size_t widest = l->n;

	for (size_t i = 0; i + 1 < l->n; i++)
		if (l->fields[i]->type->kind == KIND_TEXT && l->width[i] > least &&
		    (widest == l->n || l->width[i] > l->width[widest]))
			widest = i;
	if (widest < l->n)
		l->width[widest]--;
	return widest < l->n;
}

/* Leaves out fields and narrows names until the last field has enough room. */
static void lines_fit(struct lines *l)
{
	const size_t needed = l->width[l->n - 1],
		     enough = needed < ENOUGH ? needed : ENOUGH;
	const char *const *gone = l->op->lines;

	while (*gone && **gone != '|')
		gone++;
	lines_shorten(l, NAME_MOST, enough);
	while (lines_rest(l) < enough && lines_narrow(l, NAME_MOST))
		;
	for (gone += *gone != NULL; *gone && lines_rest(l) < enough; gone++)
		for (size_t i = 0; i < l->n; i++)
			if (!strcmp(l->fields[i]->name, *gone))
				l->width[i] = 0;
	lines_shorten(l, NAME_LEAST, enough);
	while (lines_rest(l) < enough && lines_narrow(l, NAME_LEAST))
		;
	l->width[l->n - 1] = lines_rest(l);
}

/* --- output -------------------------------------------------------------------------------- */

/* Prints a text whose found words are in brackets. The words and their brackets are bold. */
static void lines_put_found(const struct cli *cli, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '[' && cli->color)
			fputs("\033[1m", stdout);
		putchar(text[i]);
		if (text[i] == ']' && cli->color)
			fputs("\033[0m", stdout);
	}
	fputs(screen_plain(cli), stdout);
}

/* Prints at most `room` columns of a text, and returns how many columns were printed. `field` is
 * NULL for a heading. */
static size_t lines_put(struct lines *l, const struct field *field, const char *text,
			size_t room)
{
	const size_t width = cli_width(text);
	const bool cut = width > room;
	size_t n = strlen(text);

	if (cut && room == 0)
		return 0;
	if (cut)
		n = cli_fit(text, room - 1);
	if (!field)
		fwrite(text, 1, n, stdout);
	else if (field->type->given == GIVEN_FOUND)
		lines_put_found(l->cli, text, n);
	else if (field->type->kind == KIND_ENUM && !cut)
		fputs(cli_colored(l->cli, &l->arena, text), stdout);
	else if (field->type->kind == KIND_TIME)
		printf("%s%.*s%s", screen_dim(l->cli), (int)n, text,
		       screen_plain(l->cli));
	else
		fwrite(text, 1, n, stdout);
	fputs(cut ? "…" : "", stdout);
	return cut ? cli_width(arena_strndup(&l->arena, text, n)) + 1 : width;
}

/* Prints a line whose fields stand below those of the other lines. If little room is left for a
 * sentence, a longer sentence stands below the line, and is not cut. */
static void lines_put_row(struct lines *l, const char *const *cells, bool head)
{
	const size_t rest = lines_rest(l);
	const bool below = l->fields[l->n - 1]->type->given == GIVEN_KIND &&
			   rest < 2 * ENOUGH && cli_width(cells[l->n - 1]) > rest;
	size_t had;

	for (size_t i = 0; i < l->n; i++) {
		if (!l->width[i])
			continue;
		if (below && i + 1 == l->n) {
			putchar('\n');
			cli_prose(l->cli, cells[i], INDENT);
			return;
		}
		had = lines_put(l, head ? NULL : l->fields[i], cells[i], l->width[i]);
		if (i + 1 + below < l->n)
			printf("%*s", (int)(l->width[i] - had + GAP), "");
	}
	putchar('\n');
}

/* Prints a line without columns, and the text that stands below the line. */
static void lines_put_block(struct lines *l, const char *const *cells, const json_t *row)
{
	const struct field *below = field_find(l->r, l->op->below);
	const size_t room = (size_t)l->cli->width;
	size_t at = 0;

	for (size_t i = 0; i < l->n; i++) {
		const size_t gap = at ? GAP : 0;

		if (!*cells[i] || at + gap >= room)
			continue;
		printf("%*s", (int)gap, "");
		at += gap + lines_put(l, l->fields[i], cells[i], room - at - gap);
	}
	putchar('\n');
	if (screen_is_empty(json_object_get(row, below->name)) || room <= 2 * INDENT)
		return;
	printf("%*s", 2 * INDENT, "");
	lines_put(l, below, lines_text(l, below, row), room - 2 * INDENT);
	putchar('\n');
}

/* Adds the names of the fields as the first row, unless the lines are sentences. */
static void lines_add_head(struct lines *l)
{
	l->headed = !l->op->below && l->fields[l->n - 1]->type->given != GIVEN_KIND;
	for (size_t i = 0; l->headed && i < l->n; i++)
		arena_add(&l->arena, l->cells, l->n_cells,
			  screen_heading(&l->arena,
					 screen_label(&l->arena, l->fields[i])));
}

void screen_lines(const struct cli *cli, const struct op *op, const struct record *r,
		  const json_t *rows, struct layout *kept)
{
	struct lines l = { .cli = cli, .op = op, .r = r };
	struct layout once = { 0 };
	const bool teams = lines_of_teams(rows, kept ? kept : &once);
	const json_t *row;
	size_t i;

	lines_choose(&l, rows, !kept);
	if (!l.n)
		return;
	lines_add_head(&l);
	json_array_foreach(rows, i, row)
		for (size_t k = 0; k < l.n; k++)
			arena_add(&l.arena, l.cells, l.n_cells,
				  lines_text(&l, l.fields[k], row));
	for (size_t k = 0; k < l.n; k++)
		lines_measure(&l, k);
	for (size_t k = 0; kept && k < l.n; k++) {
		if (l.width[k] < kept->needed[k].width)
			l.width[k] = kept->needed[k].width;
		kept->needed[k].width = l.width[k];
	}
	for (size_t k = 0; k < l.n; k++)
		if (!teams && !strcmp(l.fields[k]->name, "team"))
			l.width[k] = 0; /* each line would say the same */
	if (!op->below)
		lines_fit(&l);
	if (l.headed) {
		fputs(cli->color ? "\033[1m" : "", stdout);
		lines_put_row(&l, l.cells, true);
		fputs(screen_plain(cli), stdout);
	}
	json_array_foreach(rows, i, row)
		if (op->below)
			lines_put_block(&l, l.cells + (i + l.headed) * l.n, row);
		else
			lines_put_row(&l, l.cells + (i + l.headed) * l.n, false);
	arena_release(&l.arena);
}
