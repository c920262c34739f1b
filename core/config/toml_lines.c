/*
 * toml_lines - where the headers and pairs of a TOML document stand in its text.
 */
#include <string.h>

#include "core/config/toml_inside.h"

struct lines {
	struct toml_reader r;
	struct toml_text *path; /* of the table, and then of the pair */
	size_t n;
};

static void toml_lines_add_keys(struct lines *l, const struct toml_key *key)
{
	for (; key; key = key->next)
		*(struct toml_text *)arena_push(l->r.arena, &l->path, &l->n,
						sizeof(*l->path)) = key->name;
}

static int toml_lines_read_header(struct lines *l)
{
	const struct toml_key *key;
	size_t brackets = 1 + (l->r.s[1] == '[');

	l->r.s += brackets;
	toml_skip_blanks(&l->r);
	if (toml_read_key(&l->r, &key) < 0)
		return l->r.fault->code;
	l->r.s += brackets;
	l->path = NULL;
	l->n = 0;
	toml_lines_add_keys(l, key);
	return 0;
}

static int read_pair(struct lines *l)
{
	const struct toml_key *key;
	struct toml_value value;

	if (toml_read_key(&l->r, &key) < 0)
		return l->r.fault->code;
	l->r.s++; /* = */
	toml_skip_blanks(&l->r);
	toml_lines_add_keys(l, key);
	return toml_read_value(&l->r, &value);
}

int toml_lines(struct arena *a, const char *data, size_t len,
	       void (*each)(void *arg, const struct toml_line *line), void *arg,
	       struct fault *f)
{
	size_t mark = len >= 3 && !memcmp(data, "\xef\xbb\xbf", 3) ? 3 : 0;
	const char *text = len > mark ? arena_strndup(a, data + mark, len - mark) : "";
	struct lines l = {
		.r = { .file = "", .s = text, .line = 1, .arena = a, .fault = f }
	};

	l.r.line_at = text;
	for (toml_skip_lines(&l.r); *l.r.s; toml_skip_lines(&l.r)) {
		struct toml_line line = { .from = (size_t)(l.r.s - text) + mark,
					  .header = *l.r.s == '[' };
		size_t above = l.n;

		if ((line.header ? toml_lines_read_header(&l) : read_pair(&l)) < 0)
			return f->code;
		toml_skip_blanks(&l.r);
		if (*l.r.s == '#')
			l.r.s += strcspn(l.r.s, "\r\n");
		line.to = (size_t)(l.r.s - text) + mark;
		line.path = l.path;
		line.n = l.n;
		each(arg, &line);
		l.n = line.header ? l.n : above;
	}
	return 0;
}
