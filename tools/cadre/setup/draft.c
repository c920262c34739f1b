#include "tools/cadre/setup/draft.h"

#include <string.h>

/* Bytes of an indentation: each inserted line repeats the indentation. */
enum { INDENT_MOST = 80 };

static const char mark[] = "\xef\xbb\xbf";

void draft_splice(struct setup_draft *d, size_t from, size_t to, const char *data,
		  size_t len)
{
	struct text out = { 0 };

	if (from)
		text_add(&out, d->text.data, from);
	text_add(&out, data, len);
	if (to < d->text.len)
		text_add(&out, d->text.data + to, d->text.len - to);
	text_release(&d->text);
	d->text = out;
}

const char *draft_eol(const struct setup_draft *d)
{
	const char *end = d->text.len ? memchr(d->text.data, '\n', d->text.len) : NULL;

	return end && end > d->text.data && end[-1] == '\r' ? "\r\n" : "\n";
}

size_t draft_start(const struct setup_draft *d)
{
	return d->text.len >= 3 && !memcmp(d->text.data, mark, 3) ? 3 : 0;
}

void draft_indent(const struct setup_draft *d, size_t at, struct text *out)
{
	size_t from = at, n;

	while (from > draft_start(d) && d->text.data[from - 1] != '\n')
		from--;
	n = strspn(d->text.data + from, " \t");
	text_add(out, d->text.data + from, n < INDENT_MOST ? n : INDENT_MOST);
}

/* --- lines at the end ------------------------------------------------------------------ */

static void add_lines(struct text *out, const char *lines, const char *eol)
{
	for (; *lines; lines += strcspn(lines, "\n")) {
		if (*lines == '\n') {
			text_addf(out, "%s", eol);
			lines++;
		}
		text_add(out, lines, strcspn(lines, "\n"));
	}
}

void draft_append(struct setup_draft *d, const char *lines)
{
	const char *eol = draft_eol(d);
	bool some = d->text.len > draft_start(d);
	bool ended = some ? d->text.data[d->text.len - 1] == '\n' : !d->there;

	if (some)
		text_addf(&d->text, "%s%s", eol, ended ? "" : eol);
	add_lines(&d->text, lines, eol);
	if (ended)
		text_addf(&d->text, "%s", eol);
	d->there = true;
}

/* Goes back over a line end before `at`, if one is there. */
static size_t back(const struct setup_draft *d, size_t at, const char *eol)
{
	size_t n = strlen(eol);

	return at >= draft_start(d) + n && !memcmp(d->text.data + at - n, eol, n) ? at - n
										  : at;
}

/* The line end of what is taken away, which may not be the file's: of "begin\r\nx\r\nend" in
 * "a\n\nbegin\r\nx\r\nend\nb" it is \r\n, so that "a\n\nb" is left.  One line alone has none
 * within, and was put with the file's. */
static const char *eol_of(const struct setup_draft *d, size_t from, size_t to)
{
	const char *inner = memchr(d->text.data + from, '\n', to - from);

	if (!inner)
		return draft_eol(d);
	return inner > d->text.data && inner[-1] == '\r' ? "\r\n" : "\n";
}

/* The number of bytes of the line end at `at`. */
static size_t ending(const struct setup_draft *d, size_t at)
{
	const char *s = d->text.data + at;
	size_t rest = d->text.len - at;

	if (rest && *s == '\n')
		return 1;
	return rest > 1 && s[0] == '\r' && s[1] == '\n' ? 2 : 0;
}

void draft_cut(struct setup_draft *d, size_t from, size_t to)
{
	const char *eol = eol_of(d, from, to);
	size_t above = back(d, from, eol), ended = ending(d, to);

	if (!ended) {
		/* "a" became "a\n\nours", of which both line ends go; of "a\nours, mine" they
		 * stay, since ours did not end the text. */
		draft_splice(d, to < d->text.len ? from : back(d, above, eol), to, "", 0);
		return;
	}
	to += ended;
	/* "a\n" became "a\n\nours\n", of which the empty line goes; of "a\nours\n", where a
	 * person has removed that line, no line end goes but that of ours. */
	if (above < from && above > draft_start(d) && d->text.data[above - 1] != '\n')
		above = from;
	d->there = above || to < d->text.len;
	draft_splice(d, above, to, "", 0);
}
