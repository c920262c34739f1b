/*
 * screen_table - prints tables, with columns that are as wide as necessary.
 */
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "core/base/alloc.h"
#include "tools/cadre/cli.h"

enum { GAP = 2, READABLE = 36, SHORTEST = 8, LONGEST_ID = 64, ROOM_USUAL = 80 };

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

	*cell = arena_strdup(&t->arena, text);
}

/* Puts the columns that --columns names, in this order, in the place of all columns. */
static void screen_table_choose(const struct cli *cli, struct table *t)
{
	const char **from = t->cells;
	const size_t rows = t->n_cells / t->n_columns, had = t->n_columns;

	if (!t->names)
		return;
	t->cells = NULL;
	t->n_cells = t->n_columns = 0;
	while (cli->columns[t->n_columns])
		t->n_columns++;
	for (size_t row = 0; row < rows; row++)
		for (size_t k = 0; k < t->n_columns; k++) {
			size_t i = 0;

			while (strcmp(t->names[i], cli->columns[k]))
				i++;
			table_cell(t, from[row * had + i]);
		}
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

/* The number of terminal columns that a row takes. `*widest` becomes the index of the widest
 * column of prose. */
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

/* The rank of a column. Columns of a lower rank are left out earlier. Rank 0: a column without
 * prose. Rank 1: a column of prose, whose cells can be cut instead. Rank 2: the first column.
 * Rank 3: a column that the schema leaves out last. */
static int rank_of(const struct table *t, const struct table_column *columns, size_t i)
{
	if (t->stay >> i & 1)
		return 3;
	return !i ? 2 : columns[i].prose;
}

/* Finds the column to leave out next, which is the last column of the lowest rank. Returns
 * n_columns if only one column is left. */
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

/* Narrows and leaves out columns until a row fits the terminal. First the widest columns of
 * prose are narrowed down to READABLE, or to half of the width if this is less. Next, columns
 * without prose are left out. If the row is still too wide, the columns of prose are narrowed
 * down to SHORTEST, and if necessary more columns are left out. */
static void screen_table_narrow(const struct table *t, struct table_column *columns,
				size_t room)
{
	size_t widest, least, gone;

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

/* Makes a row fit the terminal. A column that was left out may leave room behind. The narrowed
 * columns of prose get this room back, from the first column on. */
static void screen_table_fit(const struct cli *cli, const struct table *t,
			     struct table_column *columns, int indent)
{
	const size_t room = (size_t)(cli->width - indent);
	struct table_column whole[TABLE_COLUMNS];
	size_t widest, i = 0;

	if (cli->width <= indent)
		return;
	memcpy(whole, columns, sizeof(whole));
	screen_table_narrow(t, columns, room);
	while (i < t->n_columns && row_width(t, columns, &widest) < room)
		if (columns[i].width && columns[i].width < whole[i].width)
			columns[i].width++;
		else
			i++;
}

/* Leaves out the columns of counts that are 0 in every row. */
static void screen_table_drop_zeros(const struct table *t, struct table_column *columns)
{
	for (size_t i = 1; i < t->n_columns; i++) {
		size_t at = t->n_columns + i;

		while (at < t->n_cells &&
		       (!strcmp(t->cells[at], "0") || !strcmp(t->cells[at], "$0")))
			at += t->n_columns;
		if (at >= t->n_cells && !(t->zeros >> i & 1))
			columns[i].width = 0;
	}
}

/* The colour of a state that matters to people. Faults are red, work is yellow, and success is
 * green. The text of a cancelled, expired or destroyed thing is dim. */
static const char *color_of(const char *word)
{
	static const char *const colors[][2] = {
		{ "failed", "31" },       { "dead", "31" },
		{ "error", "31" },        { "warn", "33" },
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

static void print_cell(const struct cli *cli, struct table *t, size_t i, size_t width,
		       bool last)
{
	const char *text = t->cells[i];
	size_t has = cli_width(text), n;

	if (has <= width) {
		fputs(t->words >> i % t->n_columns & 1 ? cli_colored(cli, &t->arena, text)
						       : text,
		      stdout);
		if (!last)
			printf("%*s", (int)(width - has + GAP), "");
		return;
	}
	n = cli_fit(text, width - 1);
	fwrite(text, 1, n, stdout);
	printf("…%*s",
	       last ? 0
		    : (int)(width - 1 - (cli_width(text) - cli_width(text + n))) + GAP,
	       "");
}

/* Prints a row. If the table has no heading, a long text in the last column is wrapped and not
 * cut, because nobody compares such texts line by line. */
static void print_row(const struct cli *cli, struct table *t, size_t row,
		      const struct table_column *columns, bool head, int at)
{
	size_t last = 0;

	for (size_t i = 0; i < t->n_columns; i++)
		last = columns[i].width ? i : last;
	for (size_t i = 0; i < last; i++)
		if (columns[i].width) {
			print_cell(cli, t, row + i, columns[i].width, false);
			at += (int)columns[i].width + GAP;
		}
	if (!head && columns[last].prose) {
		cli_item(cli, t->cells[row + last], at);
		return;
	}
	print_cell(cli, t, row + last, columns[last].width, true);
	printf("%s\n", head && cli->color && !row ? "\033[0m" : "");
}

/* Prints a table for people. */
static void screen_table_show(const struct cli *cli, struct table *t, bool head,
			      int indent)
{
	struct table_column columns[TABLE_COLUMNS] = { 0 };
	bool bold = head && cli->color;
	size_t row = 0;

	for (size_t i = 0; i < t->n_cells; i++)
		t->cells[i] = cli_plain(&t->arena, t->cells[i], false);
	if (t->kept)
		memcpy(columns, t->kept->needed, sizeof(columns));
	screen_table_measure(t, head, columns);
	if (head && !t->kept && !cli->columns)
		screen_table_drop_zeros(t, columns);
	if (t->kept)
		memcpy(t->kept->needed, columns, sizeof(columns));
	screen_table_fit(cli, t, columns, indent);
	/* The last printed heading may fit these rows, too. */
	if (t->kept && !memcmp(t->kept->shown, columns, sizeof(columns)))
		row = head ? t->n_columns : 0;
	if (t->kept)
		memcpy(t->kept->shown, columns, sizeof(columns));
	for (; row < t->n_cells; row += t->n_columns) {
		printf("%*s%s", indent, "", bold && !row ? "\033[1m" : "");
		print_row(cli, t, row, columns, head, indent);
	}
}

/* Prints a cell. A tab, a newline and a backslash are escaped, because a tab separates cells
 * and a newline ends a row. */
static void screen_table_put_cell(const char *s)
{
	size_t n;

	for (; *s; s += n ? n : 1) {
		n = text_control_len(s, true);
		if (n)
			putchar('?');
		else if (*s == '\t' || *s == '\n' || *s == '\\')
			printf("\\%c", *s == '\t' ? 't' : *s == '\n' ? 'n' : '\\');
		else
			putchar(*s);
	}
}

/* Prints a table for programs, from the cell `from` on. */
static void screen_table_put(const struct table *t, size_t from)
{
	for (size_t i = from; i < t->n_cells; i++) {
		screen_table_put_cell(t->cells[i]);
		putchar((i + 1) % t->n_columns ? '\t' : '\n');
	}
}

void table_print(const struct cli *cli, struct table *t, bool head, int indent)
{
	if (cli->columns)
		screen_table_choose(cli, t);
	if (cli->people)
		screen_table_show(cli, t, head, indent);
	else
		screen_table_put(t, t->kept && t->kept->begun ? t->n_columns : 0);
	if (t->kept)
		t->kept->begun = true;
	arena_release(&t->arena);
	t->cells = NULL;
	t->n_cells = 0;
}

/*
 * Measures the width of a text on a terminal, and wraps texts to a width.
 *
 * One visible character may consist of several characters of Unicode. Examples are a letter
 * with marks, a flag of two letters, and a picture of a family. The width of each single
 * character is from wcwidth(), which does not treat sequences of characters.
 */

enum { JOINER = 0x200d, PICTURE = 0xfe0f };

/* Reads a character of UTF-8. Each byte that is no UTF-8 counts as a character. */
static const char *next_char(const char *s, unsigned *code)
{
	static const unsigned char masks[] = { 0x7f, 0x1f, 0x0f, 0x07 };
	unsigned char c = (unsigned char)*s;
	int more = c < 0x80 ? 0 : c < 0xc0 ? -1 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;

	*code = more < 0 ? 0xfffd : c & masks[more];
	for (int i = 1; i <= more; i++) {
		if (((unsigned char)s[i] & 0xc0) != 0x80) {
			*code = 0xfffd;
			return s + i;
		}
		*code = *code << 6 | ((unsigned char)s[i] & 0x3f);
	}
	return s + (more > 0 ? more : 0) + 1;
}

static bool is_flag_letter(unsigned code)
{
	return code >= 0x1f1e6 && code <= 0x1f1ff;
}

/* The number of terminal columns of a character. Combining marks, joiners, variation selectors
 * and skin tones take no column, because a terminal combines such a character with the
 * character before. */
static size_t screen_table_columns_of(unsigned code)
{
	int n;

	if (code < 0x300)
		return 1;
	if (code >= 0x1f3fb && code <= 0x1f3ff)
		return 0;
	if (MB_CUR_MAX == 1) /* the program began in the locale C */
		setlocale(LC_CTYPE, "C.UTF-8");
	n = wcwidth((wchar_t)code);
	return n < 0 ? 1 : (size_t)n;
}

/* Reads the bytes that a terminal shows as one character. `*width` gets the number of columns
 * of this character. */
static const char *next_shown(const char *s, size_t *width)
{
	unsigned code, next;
	const char *end = next_char(s, &code), *after;

	*width = is_flag_letter(code) ? 2 : screen_table_columns_of(code);
	if (is_flag_letter(code) && *end) {
		after = next_char(end, &next);
		if (is_flag_letter(next))
			end = after;
	}
	while (*end) {
		after = next_char(end, &next);
		if (screen_table_columns_of(next))
			break;
		if (next == PICTURE && *width == 1)
			*width = 2;
		end = after;
		if (next == JOINER && *width == 2 && *end)
			end = next_char(end, &next);
	}
	return end;
}

size_t cli_width(const char *s)
{
	size_t width = 0, one;

	while (*s) {
		s = next_shown(s, &one);
		width += one;
	}
	return width;
}

size_t cli_fit(const char *s, size_t width)
{
	const char *at = s, *next;
	size_t one;

	for (; *at; at = next) {
		next = next_shown(at, &one);
		if (one > width)
			break;
		width -= one;
	}
	return (size_t)(at - s);
}

/* The length of a command that begins at `s`, or 0. A command stands between backquotes, or stands
 * bare in parentheses or behind a colon, a semicolon or an arrow. A longer text is no command. */
static size_t line_command(const char *s, const char *text)
{
	enum { LONGEST = 72 };
	const bool quoted = *s == '`';
	size_t n = quoted ? strcspn(s + 1, "`\n") + 1 : 0;

	if (strncmp(s + quoted, "cadre ", 6) != 0 || (quoted && s[n] != '`'))
		return 0;
	if (!quoted && (s == text || (s[-1] != '(' && (s - text < 2 || s[-1] != ' ' ||
						       !strchr(":;>", s[-2])))))
		return 0;
	while (!quoted && s[n] && s[n] != '\n' &&
	       !(strchr(".;,)", s[n]) && strchr(" .\n", s[n + 1])))
		n++;
	n += strcspn(s + n, " \n"); /* a comma behind the command */
	return n <= LONGEST ? n : 0;
}

/* Moves the end of a line out of a command, because a person copies a command as a whole. The
 * line ends before the command, or behind the command if the line begins with the command. */
static size_t line_spare_command(const char *s, size_t at, const char *text)
{
	for (size_t i = 0; i < at; i++) {
		const size_t n = line_command(s + i, text);

		if (n && i + n > at)
			return i ? i : n;
	}
	return at;
}

/* The number of bytes at the beginning of a line that fit into the width. Only whole words
 * count, if at least one word fits. `text`: the text that has the line. */
static size_t line_fit(const char *s, size_t n, size_t width, const char *text)
{
	size_t fit = cli_fit(s, width), at;

	if (fit >= n)
		return n;
	for (at = fit; at > 0 && s[at] != ' '; at--)
		;
	at = line_spare_command(s, at ? at : fit, text);
	while (at > 0 && s[at - 1] == ' ')
		at--; /* two blanks may separate sentences */
	at = at ? at : fit;
	return at ? at : (size_t)(next_shown(s, &fit) - s); /* at least one character */
}

int cli_columns(int fd)
{
	struct winsize size;

	if (!isatty(fd))
		return 0;
	return ioctl(fd, TIOCGWINSZ, &size) || !size.ws_col ? ROOM_USUAL : size.ws_col;
}

int cli_room(void)
{
	const char *columns = getenv("COLUMNS");
	const int room = cli_columns(STDOUT_FILENO),
		  asked = columns ? (int)strtol(columns, NULL, 10) : 0;

	return room ? room : asked > 0 ? asked : ROOM_USUAL;
}

/* Prints a text wrapped at words. `begun`: the caller has already printed the first line's
 * blanks, or a word in place of the blanks. */
static void width_put_prose(FILE *out, int columns, const char *text, int indent,
			    bool begun)
{
	size_t width = columns > indent + 8 ? (size_t)(columns - indent) : 0;
	const char *const whole = text;

	while (*text) {
		size_t n = strcspn(text, "\n"),
		       fit = width ? line_fit(text, n, width, whole) : n;

		fprintf(out, "%*s%.*s\n", fit && !begun ? indent : 0, "", (int)fit, text);
		begun = false;
		text += fit;
		if (fit < n)
			text += strspn(text, " ");
		text += *text == '\n';
	}
}

void cli_prose(const struct cli *cli, const char *text, int indent)
{
	width_put_prose(stdout, cli->width, text, indent, false);
}

void cli_wrap(int width, const char *text, int at)
{
	width_put_prose(stdout, width, text, at, true);
}

void cli_item(const struct cli *cli, const char *text, int at)
{
	width_put_prose(stdout, cli->width, text, at, true);
}

void cli_tell(const char *fmt, ...)
{
	va_list ap;
	char *text;

	fflush(stdout); /* the answer on stdout is written first */
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) >= 0) {
		width_put_prose(stderr, cli_columns(STDERR_FILENO), text, 0, false);
		free(text);
	}
	va_end(ap);
}
