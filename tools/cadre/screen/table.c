/*
 * table - cells under headings, as wide as they have to be.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tools/cadre/cli.h"

enum { GAP = 2, MOST_COLUMNS = 64, NARROWEST = 16 };

/* Reads a character of UTF-8; each byte that is none counts as a character. */
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

/* East Asian wide characters and emoji take two columns, marks none; without a
 * locale there is no wcwidth() to ask. */
static size_t char_width(unsigned code)
{
	if (code < 0x300)
		return 1;
	if (code < 0x370 || (code >= 0x200b && code <= 0x200f) ||
	    (code >= 0xfe00 && code <= 0xfe0f))
		return 0;
	if ((code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
	    (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
	    (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
	    (code >= 0x1f300 && code <= 0x1faff) || (code >= 0x20000 && code <= 0x3fffd))
		return 2;
	return 1;
}

size_t cli_width(const char *s)
{
	size_t width = 0;
	unsigned code;

	while (*s) {
		s = next_char(s, &code);
		width += char_width(code);
	}
	return width;
}

/* Bytes of `s` that fit into `width` columns. */
static size_t text_fit(const char *s, size_t width)
{
	const char *at = s, *next;
	unsigned code;

	for (; *at; at = next) {
		next = next_char(at, &code);
		if (char_width(code) > width)
			break;
		width -= char_width(code);
	}
	return (size_t)(at - s);
}

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

struct column {
	size_t width;
	bool prose; /* only what has several words is cut: nobody copies a part of an id */
};

static void measure(const struct table *t, struct column *columns)
{
	for (size_t i = 0; i < t->n_cells; i++) {
		struct column *c = &columns[i % t->n_columns];
		size_t width = cli_width(t->cells[i]);

		c->width = width > c->width ? width : c->width;
		c->prose |= strchr(t->cells[i], ' ') != NULL;
	}
}

/* Narrows the widest columns of prose until a row fits the terminal's width. */
static void narrow(const struct cli *cli, const struct table *t, struct column *columns,
		   int indent)
{
	size_t room = (size_t)(cli->width - indent), total;
	struct column *widest;

	if (!cli->width || cli->width <= indent)
		return;
	for (;;) {
		total = GAP * (t->n_columns - 1);
		widest = NULL;
		for (size_t i = 0; i < t->n_columns; i++) {
			total += columns[i].width;
			if (columns[i].prose &&
			    (!widest || columns[i].width >= widest->width))
				widest = &columns[i];
		}
		if (total <= room || !widest || widest->width <= NARROWEST)
			return;
		widest->width--;
	}
}

static void print_cell(const char *text, size_t width, bool last)
{
	size_t has = cli_width(text);

	if (has <= width) {
		fputs(text, stdout);
		if (!last)
			printf("%*s", (int)(width - has + GAP), "");
		return;
	}
	has = text_fit(text, width - 1);
	fwrite(text, 1, has, stdout);
	printf("…%*s", last ? 0 : GAP, "");
}

void table_print(const struct cli *cli, struct table *t, bool head, int indent)
{
	struct column columns[MOST_COLUMNS] = { 0 };
	bool bold = head && cli->color;

	measure(t, columns);
	narrow(cli, t, columns, indent);
	for (size_t i = 0; i < t->n_cells; i++) {
		size_t column = i % t->n_columns;

		if (!column)
			printf("%*s%s", indent, "", bold && i == 0 ? "\033[1m" : "");
		print_cell(t->cells[i], columns[column].width,
			   column + 1 == t->n_columns);
		if (column + 1 == t->n_columns)
			printf("%s\n", bold && i < t->n_columns ? "\033[0m" : "");
	}
	arena_release(&t->arena);
	t->cells = NULL;
	t->n_cells = 0;
}
