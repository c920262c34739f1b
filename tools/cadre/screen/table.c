/*
 * table - cells under headings, as wide as they have to be.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tools/cadre/cli.h"

enum { GAP = 2, READABLE = 36, SHORTEST = 8, LONGEST_ID = 64, STEP = 4 };

char *cli_plain(struct arena *a, const char *s, bool lines)
{
	char *copy = arena_strdup(a, s ? s : "");
	size_t n;

	for (char *at = copy; *at; at += n ? n : 1) {
		n = text_control_len(at, lines);
		if (n)
			memset(at, *at == '\n' || *at == '\t' ? ' ' : '?', n);
	}
	return copy;
}

void cli_say(const char *fmt, ...)
{
	struct arena a = { 0 };
	char *line = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&line, fmt, ap) < 0)
		out_of_memory();
	va_end(ap);
	puts(cli_plain(&a, line, false));
	free(line);
	arena_release(&a);
}

void table_cell(struct table *t, const char *text)
{
	const char **cell =
		arena_push(&t->arena, &t->cells, &t->n_cells, sizeof(*t->cells));

	*cell = cli_plain(&t->arena, text, false);
}

static void measure(const struct table *t, bool head, struct table_column *columns)
{
	for (size_t i = 0; i < t->n_cells; i++) {
		struct table_column *c = &columns[i % t->n_columns];
		size_t width = cli_width(t->cells[i]);

		c->width = width > c->width ? width : c->width;
		if (!(head && i < t->n_columns) && !(t->whole >> i % t->n_columns & 1))
			c->prose |= strchr(t->cells[i], ' ') || width > LONGEST_ID;
	}
}

/* The columns that a row takes, and the widest one of prose. */
static size_t row_width(const struct table *t, const struct table_column *columns,
			size_t *widest)
{
	size_t total = 0;

	*widest = t->n_columns;
	for (size_t i = 0; i < t->n_columns; i++) {
		if (!columns[i].width)
			continue;
		total += columns[i].width + (total ? GAP : 0);
		if (columns[i].prose && (*widest == t->n_columns ||
					 columns[i].width >= columns[*widest].width))
			*widest = i;
	}
	return total;
}

/* The column that can be spared: the last one that is not the first and not of prose, then
 * the last but the first. */
static size_t spare(const struct table *t, const struct table_column *columns)
{
	size_t last = 0;

	for (size_t i = t->n_columns; i-- > 1;) {
		if (columns[i].width && !columns[i].prose)
			return i;
		if (columns[i].width && !last)
			last = i;
	}
	return last;
}

/* Makes a row fit the terminal: the widest columns of prose are narrowed as far as their
 * words can still be read, then columns are left out, and at last prose is cut short. */
static void fit(const struct cli *cli, const struct table *t,
		struct table_column *columns, int indent)
{
	size_t room = (size_t)(cli->width - indent), widest, least, gone;

	if (!cli->width || cli->width <= indent)
		return;
	least = room / 2 < READABLE ? room / 2 : READABLE;
	while (row_width(t, columns, &widest) > room) {
		if (widest < t->n_columns && columns[widest].width > least) {
			columns[widest].width--;
		} else if ((gone = spare(t, columns)) && !columns[gone].prose) {
			columns[gone].width = 0;
		} else if (least > SHORTEST) {
			least = SHORTEST;
		} else if (gone) {
			columns[gone].width = 0;
		} else {
			return;
		}
	}
}

/* Goes on with the columns of the rows that are printed already, wider where these need it:
 * whether they stay where they are.  They grow in steps, so that they seldom do. */
static bool go_on(const struct cli *cli, const struct table *t,
		  struct table_column *columns)
{
	struct layout *kept = t->kept;
	bool same = kept->n_columns == t->n_columns;

	for (size_t i = 0; i < t->n_columns; i++) {
		struct table_column *wide = &kept->wide[i];

		columns[i].width = (columns[i].width + STEP - 1) / STEP * STEP;
		if (columns[i].width > wide->width)
			wide->width = columns[i].width;
		wide->prose |= columns[i].prose;
		columns[i] = *wide;
	}
	fit(cli, t, columns, 0);
	for (size_t i = 0; i < t->n_columns; i++) {
		same &= kept->shown[i] == columns[i].width;
		kept->shown[i] = columns[i].width;
	}
	kept->n_columns = t->n_columns;
	return same;
}

/* Colours of states that somebody looks for: what is wrong, under way, and well. */
static const char *color_of(const char *word)
{
	static const char *const colors[][2] = {
		{ "failed", "31" },       { "dead", "31" },
		{ "stuck", "31" },        { "offline", "31" },
		{ "blocked", "33" },      { "claimed", "33" },
		{ "in_progress", "33" },  { "working", "33" },
		{ "creating", "33" },     { "urgent", "31" },
		{ "completed", "32" },    { "ready", "32" },
		{ "acked", "32" },        { "cancelled", "2" },
		{ "expired", "2" },       { "destroyed", "2" },
		{ "rate_limited", "33" }, { "initializing", "33" },
	};

	for (size_t i = 0; i < sizeof(colors) / sizeof(*colors); i++)
		if (!strcmp(colors[i][0], word))
			return colors[i][1];
	return NULL;
}

const char *cli_colored(const struct cli *cli, struct arena *a, const char *word)
{
	const char *color = cli->color ? color_of(word) : NULL;

	return color ? arena_printf(a, "\033[%sm%s\033[0m", color, word) : word;
}

/* Prints a cell.  In a pipe nothing is padded: who reads pays for blanks. */
static void print_cell(const struct cli *cli, struct table *t, size_t i, size_t width,
		       bool last)
{
	const char *text = t->cells[i];
	size_t has = cli_width(text), n;

	if (!cli->width || has <= width) {
		fputs(t->words >> i % t->n_columns & 1 ? cli_colored(cli, &t->arena, text)
						       : text,
		      stdout);
		if (!last)
			printf("%*s", cli->width ? (int)(width - has + GAP) : GAP, "");
		return;
	}
	n = cli_fit(text, width - 1);
	fwrite(text, 1, n, stdout);
	printf("…%*s",
	       last ? 0
		    : (int)(width - 1 - (cli_width(text) - cli_width(text + n))) + GAP,
	       "");
}

void table_print(const struct cli *cli, struct table *t, bool head, int indent)
{
	struct table_column columns[TABLE_COLUMNS] = { 0 };
	bool bold = head && cli->color;
	size_t last = 0, first = 0;

	measure(t, head, columns);
	if (!t->kept)
		fit(cli, t, columns, indent);
	else if (go_on(cli, t, columns) && head)
		first = t->n_columns; /* the heading stands above already */
	for (size_t i = 0; i < t->n_columns; i++)
		last = columns[i].width ? i : last;
	for (size_t i = first; i < t->n_cells; i++) {
		size_t column = i % t->n_columns;

		if (!column)
			printf("%*s%s", indent, "", bold && i == 0 ? "\033[1m" : "");
		if (columns[column].width)
			print_cell(cli, t, i, columns[column].width, column == last);
		if (column + 1 == t->n_columns)
			printf("%s\n", bold && i < t->n_columns ? "\033[0m" : "");
	}
	arena_release(&t->arena);
	t->cells = NULL;
	t->n_cells = 0;
}
