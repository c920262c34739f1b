/*
 * help_flow - texts of help, wrapped anew at words to the width of the terminal.
 */
#include <stdio.h>
#include <string.h>

#include "tools/cadre/help/help_flow.h"

enum { NARROW = 60, NARROW_HANG = 4, ENTRY = 2 };

/* The column at which a wrapped line goes on: for an entry `  NAME    TEXT` the column of TEXT, for
 * every other line the column of its first word. */
static size_t hang_of(const char *line, size_t n)
{
	size_t indent = strspn(line, " "), at = indent;

	if (!strncmp(line, "usage: ", 7))
		return 7;
	if (indent != ENTRY)
		return indent;
	while (at + 1 < n && strncmp(line + at, "  ", 2) != 0)
		at++;
	at += strspn(line + at, " ");
	return at + 1 < n ? at : indent;
}

/* Whether a line goes on with the paragraph before it. */
static bool help_flow_goes_on(const char *line, size_t hang)
{
	return *line && *line != '\n' && hang != ENTRY && strspn(line, " ") == hang;
}

static void put_paragraph(int width, const char *text, size_t hang)
{
	size_t head = hang;

	while (head > 0 && text[head - 1] == ' ')
		head--;
	if (width >= NARROW || hang <= 2 * NARROW_HANG) {
		printf("%.*s", (int)hang, text);
		cli_wrap(width, text + hang, (int)hang);
		return;
	}
	if (head)
		printf("%.*s\n", (int)head, text);
	printf("%*s", NARROW_HANG, "");
	cli_wrap(width, text + hang, NARROW_HANG);
}

void help_flow(int width, const char *text)
{
	struct text paragraph = { 0 };

	while (*text) {
		size_t n = strcspn(text, "\n"), hang = hang_of(text, n);

		paragraph.len = 0;
		text_add(&paragraph, text, n);
		text += n + (text[n] == '\n');
		while (n && help_flow_goes_on(text, hang)) {
			n = strcspn(text, "\n");
			text_addf(&paragraph, " %.*s", (int)(n - hang), text + hang);
			text += n + (text[n] == '\n');
		}
		if (n)
			put_paragraph(width, paragraph.data, hang);
		else
			putchar('\n');
	}
	text_release(&paragraph);
}
