/*
 * screen_table - cells under headings, as wide as they have to be.
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

static void screen_table_measure(const struct table *t, bool head,
				 struct table_column *columns)
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

/* The rank of a column; columns of a lower rank are left out first.  0: without prose; 1: prose,
 * which can be cut instead; 2: the first column; 3: the schema leaves the column out last. */
static int rank_of(const struct table *t, const struct table_column *columns, size_t i)
{
	if (t->stay >> i & 1)
		return 3;
	return !i ? 2 : columns[i].prose;
}

/* The column that can be spared: the last one of the lowest rank.  n_columns: there is none
 * but one. */
static size_t spare(const struct table *t, const struct table_column *columns)
{
	size_t found = t->n_columns, shown = 0;

	for (size_t i = t->n_columns; i-- > 0;) {
		if (!columns[i].width)
			continue;
		shown++;
		if (found == t->n_columns ||
		    rank_of(t, columns, i) < rank_of(t, columns, found))
			found = i;
	}
	return shown > 1 ? found : t->n_columns;
}

/* Makes a row fit the terminal: the widest columns of prose are narrowed as far as their
 * words can still be read, then columns are left out, and at last prose is cut short. */
static void screen_table_fit(const struct cli *cli, const struct table *t,
			     struct table_column *columns, int indent)
{
	size_t room = (size_t)(cli->width - indent), widest, least, gone;

	if (!cli->width || cli->width <= indent)
		return;
	least = room / 2 < READABLE ? room / 2 : READABLE;
	while (row_width(t, columns, &widest) > room) {
		gone = spare(t, columns);
		if (widest < t->n_columns && columns[widest].width > least)
			columns[widest].width--;
		else if (gone < t->n_columns && !rank_of(t, columns, gone))
			columns[gone].width = 0;
		else if (least > SHORTEST)
			least = SHORTEST;
		else if (gone < t->n_columns)
			columns[gone].width = 0;
		else
			return;
	}
}

/* Lays out the first rows of a list that goes on, for all that come: columns are wider than
 * these rows need, and the last one, which may be cut, takes the room that is left. */
static void lay_out(const struct cli *cli, const struct table *t,
		    struct table_column *columns)
{
	size_t last = t->n_columns - 1, taken, widest;

	columns[last].prose = true;
	for (size_t i = 0; i < t->n_columns; i++)
		columns[i].width = (columns[i].width + STEP - 1) / STEP * STEP;
	screen_table_fit(cli, t, columns, 0);
	taken = row_width(t, columns, &widest);
	if (columns[last].width && cli->width > 0 && taken < (size_t)cli->width)
		columns[last].width += (size_t)cli->width - taken;
	memcpy(t->kept->columns, columns, t->n_columns * sizeof(*columns));
	t->kept->n_columns = t->n_columns;
}

/* Takes so much room of a column as a row leaves there; how much that is. */
static size_t take_room(const struct table *t, size_t row, size_t i,
			struct table_column *columns, size_t wants)
{
	size_t needs = columns[i].prose ? SHORTEST : cli_width(t->cells[row + i]),
	       has = columns[i].width > needs ? columns[i].width - needs : 0;

	has = has < wants ? has : wants;
	columns[i].width -= has;
	return has;
}

/* Makes room in a row of such a list for a text that is wider than its column and is not cut.  The
 * row's other columns give up room, the columns behind it first, so that few cells move. */
static void screen_table_make_room(const struct table *t, size_t row,
				   struct table_column *columns)
{
	for (size_t i = 0; i < t->n_columns; i++) {
		size_t has = cli_width(t->cells[row + i]), wants;

		if (!columns[i].width || columns[i].prose || has <= columns[i].width)
			continue;
		wants = has - columns[i].width;
		columns[i].width = has;
		for (size_t k = 1; k < t->n_columns && wants; k++)
			wants -=
				take_room(t, row, (i + k) % t->n_columns, columns, wants);
	}
}

/* Colours of states that matter to people: red for faults, yellow for work, green for success. */
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

/* Prints a row; without a heading its last text is no column to be looked along, and goes on
 * below itself instead of being cut. */
static void print_row(const struct cli *cli, struct table *t, size_t row,
		      const struct table_column *columns, bool head, int at)
{
	struct table_column here[TABLE_COLUMNS];
	size_t last = 0;

	memcpy(here, columns, t->n_columns * sizeof(*here));
	if (t->kept && cli->width)
		screen_table_make_room(t, row, here);
	for (size_t i = 0; i < t->n_columns; i++)
		last = here[i].width ? i : last;
	for (size_t i = 0; i < last; i++)
		if (here[i].width) {
			print_cell(cli, t, row + i, here[i].width, false);
			at += (int)here[i].width + GAP;
		}
	if (!head && here[last].prose) {
		cli_item(cli, t->cells[row + last], at);
		return;
	}
	print_cell(cli, t, row + last, here[last].width, true);
	printf("%s\n", head && cli->color && !row ? "\033[0m" : "");
}

void table_print(const struct cli *cli, struct table *t, bool head, int indent)
{
	struct table_column columns[TABLE_COLUMNS] = { 0 };
	bool bold = head && cli->color;
	size_t row = 0;

	if (t->kept && t->kept->n_columns) {
		memcpy(columns, t->kept->columns, t->n_columns * sizeof(*columns));
		row = head ? t->n_columns : 0; /* the heading stands above already */
	} else {
		screen_table_measure(t, head, columns);
		if (t->kept)
			lay_out(cli, t, columns);
		else
			screen_table_fit(cli, t, columns, indent);
	}
	for (; row < t->n_cells; row += t->n_columns) {
		printf("%*s%s", indent, "", bold && !row ? "\033[1m" : "");
		print_row(cli, t, row, columns, head, indent);
	}
	arena_release(&t->arena);
	t->cells = NULL;
	t->n_cells = 0;
}
