#include "tools/cadre/setup/jsonc.h"

#include <stdio.h>
#include <string.h>

#include "core/config/toml.h"

/* INDENT_MOST: the maximum number of bytes of an indentation; each inserted line repeats the
 * indentation. */
enum { DEPTH = 200, INDENT_MOST = 80 };

#define BLANKS " \t\r\n"

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

/* The line end of the first line of a span. A span without a line end gets the line end of the
 * file's first line.
 *
 * The span is the text that is taken away, and its line end may differ from the file's line
 * end. In "a\n\nbegin\r\nx\r\nend\nb" the span "begin\r\nx\r\nend" has the line end \r\n, so
 * that "a\n\nb" is left. A span of one line contains no line end. When setup put this line,
 * setup used the file's line end. */
static const char *draft_eol(const struct setup_draft *d, size_t from, size_t to)
{
	const char *s = d->text.data,
		   *end = to ? memchr(s + from, '\n', to - from) : NULL;

	if (!end && from)
		return draft_eol(d, 0, d->text.len);
	return end && end > s && end[-1] == '\r' ? "\r\n" : "\n";
}

size_t draft_start(const struct setup_draft *d)
{
	return d->text.len >= 3 && !memcmp(d->text.data, mark, 3) ? 3 : 0;
}

/* Adds the blanks at the beginning of the line that contains the byte `at`, up to INDENT_MOST. */
static void draft_indent(const struct setup_draft *d, size_t at, struct text *out)
{
	size_t from = at, n;

	while (from > draft_start(d) && d->text.data[from - 1] != '\n')
		from--;
	n = strspn(d->text.data + from, " \t");
	text_add(out, d->text.data + from, n < INDENT_MOST ? n : INDENT_MOST);
}

void draft_quote(struct setup_draft *d, size_t at, const char *text)
{
	const char *s = d->text.data, quote = s[at];
	size_t n = s[at + 1] == quote && s[at + 2] == quote ? 3 : 1, to = at + n;
	struct text out = { 0 };

	while (strncmp(s + to, s + at, n) != 0)
		to += s[to] == '\\' && quote == '"' ? 2 : 1;
	text_add_json(&out, text);
	draft_splice(d, at, to + n, out.data, out.len);
	text_release(&out);
}

/* --- lines at the end ------------------------------------------------------------------ */

void draft_append(struct setup_draft *d, const char *lines)
{
	const char *eol = draft_eol(d, 0, d->text.len);
	bool some = d->text.len > draft_start(d);
	bool ended = some ? d->text.data[d->text.len - 1] == '\n' : !d->there;

	if (some)
		text_addf(&d->text, "%s%s", eol, ended ? "" : eol);
	for (; *lines; lines++)
		text_addf(&d->text, "%s%c", *lines == '\n' && eol[1] ? "\r" : "", *lines);
	if (ended)
		text_addf(&d->text, "%s", eol);
	d->there = true;
}

/* Returns the offset of the line end just before `at`; returns `at` if no line end is before
 * `at`. */
static size_t back(const struct setup_draft *d, size_t at, const char *eol)
{
	size_t n = strlen(eol);

	return at >= draft_start(d) + n && !memcmp(d->text.data + at - n, eol, n) ? at - n
										  : at;
}

/* The number of bytes of the line end at `at`. */
static size_t ending(const struct setup_draft *d, size_t at)
{
	const char *s = d->text.data + at;

	return *s == '\n' ? 1 : s[0] == '\r' && s[1] == '\n' ? 2 : 0;
}

void draft_cut(struct setup_draft *d, size_t from, size_t to)
{
	const char *eol = draft_eol(d, from, to);
	size_t above = back(d, from, eol), ended = ending(d, to);

	if (!ended) {
		/* "a" became "a\n\nours", so both line ends are removed. In "a\nours, mine" the
		 * line end stays, because setup's text was not at the end. */
		draft_splice(d, to < d->text.len ? from : back(d, above, eol), to, "", 0);
		return;
	}
	to += ended;
	/* "a\n" became "a\n\nours\n", so the empty line is removed too. In "a\nours\n" a person
	 * has removed the empty line, so only the line end of setup's text is removed. */
	if (above < from && above > draft_start(d) && d->text.data[above - 1] != '\n')
		above = from;
	d->there = above || to < d->text.len;
	draft_splice(d, above, to, "", 0);
}

/* --- reading: reports of errors -------------------------------------------------------------- */

struct reader {
	const struct setup_draft *d;
	const char *s; /* the text, ended by a NUL */
	size_t at;
	int depth;
	struct arena *arena;
	struct fault *fault;
};

int jsonc_refuse(const struct setup_draft *d, size_t at, struct fault *f, const char *fmt,
		 ...)
{
	struct toml_place place = { .line = 1, .column = 1 };
	char text[140];
	va_list ap;

	for (size_t i = draft_start(d); i < at && i < d->text.len; i++) {
		place.column++;
		if (d->text.data[i] == '\n')
			place = (struct toml_place){ place.line + 1, 1 };
	}
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return toml_refuse(d->name, place, f, "%s", text);
}

#define wrong(r, ...) jsonc_refuse((r)->d, (r)->at, (r)->fault, __VA_ARGS__)

/* --- blanks and comments ---------------------------------------------------------------- */

/* The end of the comment at `at`; returns `at` if there is no comment, or the comment has no
 * end. */
static size_t comment_end(const char *s, size_t at)
{
	const char *end = NULL;

	if (s[at] == '/' && s[at + 1] == '/')
		return at + strcspn(s + at, "\r\n");
	if (s[at] == '/' && s[at + 1] == '*')
		end = strstr(s + at + 2, "*/");
	return end ? (size_t)(end + 2 - s) : at;
}

/* Skips blanks, line ends and comments. `*last` becomes the end of the last comment, or `at`.
 * `*line` becomes true if the last comment begins with two slashes. */
static size_t jsonc_skip(const char *s, size_t at, size_t *last, bool *line)
{
	*last = at;
	*line = false;
	for (;;) {
		size_t from = *last + strspn(s + *last, BLANKS),
		       to = comment_end(s, from);

		if (to == from)
			return from;
		*line = s[from + 1] == '/';
		*last = to;
	}
}

static void jsonc_skip_blanks(struct reader *r)
{
	size_t last;
	bool line;

	r->at = jsonc_skip(r->s, r->at, &last, &line);
}

/* --- values --------------------------------------------------------------------------------- */

static int read_string(struct reader *r)
{
	for (r->at++; r->s[r->at] != '"'; r->at++) {
		if ((unsigned char)r->s[r->at] < ' ')
			return wrong(
				r, "a string does not end, or holds a control character");
		if (r->s[r->at] != '\\')
			continue;
		r->at++;
		if (!r->s[r->at] || !strchr("\"\\/bfnrtu", r->s[r->at]))
			return wrong(r, "unknown escape in a string");
		if (r->s[r->at] == 'u' &&
		    strspn(r->s + r->at + 1, "0123456789abcdefABCDEF") < 4)
			return wrong(r, "four digits must follow \\u");
	}
	r->at++;
	return 0;
}

#define DIGITS "0123456789"

static int jsonc_read_number(struct reader *r)
{
	const char *s = r->s + r->at + (r->s[r->at] == '-'), *e;
	size_t n = strspn(s, DIGITS);

	s += *s == '0' ? 1 : n;
	if (n && *s == '.' && strspn(s + 1, DIGITS))
		s += 1 + strspn(s + 1, DIGITS);
	e = s + 1 + (*s && (s[1] == '+' || s[1] == '-'));
	if (n && (*s == 'e' || *s == 'E') && strspn(e, DIGITS))
		s = e + strspn(e, DIGITS);
	r->at = (size_t)(s - r->s);
	return n ? 0 : wrong(r, "is not a number");
}

static int jsonc_read_word(struct reader *r)
{
	static const char *const words[] = { "true", "false", "null" };
	const char *s = r->s + r->at;

	for (int i = 0; i < 3; i++)
		if (!strncmp(s, words[i], strlen(words[i]))) {
			r->at += strlen(words[i]);
			return 0;
		}
	return wrong(r, *s ? "a value is missing here"
			   : "a value is missing at the end of the text");
}

static int read_value(struct reader *r, struct jsonc *v);

static struct jsonc *add_child(struct reader *r, struct jsonc *up)
{
	struct jsonc *v = arena_alloc(r->arena, sizeof(*v));

	v->up = up;
	v->prev = up->last;
	*(up->last ? &up->last->next : &up->first) = v;
	up->last = v;
	return v;
}

static int read_member(struct reader *r, struct jsonc *up)
{
	struct jsonc *v = add_child(r, up);

	v->key_from = v->key_to = r->at;
	if (up->kind == '{') {
		if (r->s[r->at] != '"')
			return wrong(r, "a key in quotes, or } must follow");
		if (read_string(r) < 0)
			return r->fault->code;
		v->key_to = r->at;
		jsonc_skip_blanks(r);
		if (r->s[r->at] != ':')
			return wrong(r, ": and a value must follow a key");
		r->at++;
		jsonc_skip_blanks(r);
	}
	return read_value(r, v);
}

/* Reads the members between brackets, and the closing bracket. */
static int read_members(struct reader *r, struct jsonc *v)
{
	const char close = v->kind == '{' ? '}' : ']';

	if (++r->depth > DEPTH)
		return wrong(r, "objects and arrays are nested more than %d deep", DEPTH);
	r->at++;
	for (jsonc_skip_blanks(r); r->s[r->at] != close; jsonc_skip_blanks(r)) {
		if (v->last && !v->last->comma)
			return wrong(r, "a comma or %c must follow", close);
		if (read_member(r, v) < 0)
			return r->fault->code;
		jsonc_skip_blanks(r);
		if (r->s[r->at] == ',')
			v->last->comma = r->at++;
	}
	r->at++;
	r->depth--;
	return 0;
}

static int read_value(struct reader *r, struct jsonc *v)
{
	const char c = r->s[r->at];

	v->from = r->at;
	v->kind = c;
	if (c == '{' || c == '[')
		read_members(r, v);
	else if (c == '"')
		read_string(r);
	else if (c == '-' || (c >= '0' && c <= '9'))
		jsonc_read_number(r), v->kind = '0';
	else
		jsonc_read_word(r);
	v->to = r->at;
	return r->fault->code;
}

int jsonc_read(struct arena *a, const struct setup_draft *d, struct jsonc **root,
	       struct fault *f)
{
	struct reader r = { .d = d,
			    .s = d->text.len ? d->text.data : "",
			    .at = draft_start(d),
			    .arena = a,
			    .fault = f };
	struct jsonc *v;

	*root = NULL;
	if (strlen(r.s) < d->text.len) {
		r.at = strlen(r.s);
		return wrong(&r, "JSON cannot hold a NUL");
	}
	if (!r.s[r.at + strspn(r.s + r.at, BLANKS)])
		return 0;
	jsonc_skip_blanks(&r);
	v = arena_alloc(a, sizeof(*v));
	v->key_from = v->key_to = r.at;
	if (read_value(&r, v) < 0)
		return f->code;
	jsonc_skip_blanks(&r);
	if (r.s[r.at])
		return wrong(&r, "only one value may be here");
	*root = v;
	return 0;
}

/* --- the content of values --------------------------------------------------------------------- */

size_t jsonc_start(const struct jsonc *v)
{
	return v->key_to > v->key_from ? v->key_from : v->from;
}

static const char *unquote(struct arena *a, const struct setup_draft *d, size_t from,
			   size_t to)
{
	json_t *text = json_loadb(d->text.data + from, to - from, JSON_DECODE_ANY, NULL);
	const char *s = arena_strdup(a, json_string_value(text));

	json_decref(text);
	return s;
}

const char *jsonc_text(struct arena *a, const struct setup_draft *d,
		       const struct jsonc *v)
{
	return v && v->kind == '"' ? unquote(a, d, v->from, v->to) : NULL;
}

static bool has_key(const struct setup_draft *d, const struct jsonc *v, const char *key)
{
	const char *s = d->text.data + v->key_from;
	size_t n = v->key_to - v->key_from;
	struct arena a = { 0 };
	const char *text;
	bool is;

	if (n < 2 || !memchr(s, '\\', n))
		return n == strlen(key) + 2 && !memcmp(s + 1, key, n - 2);
	text = unquote(&a, d, v->key_from, v->key_to);
	is = text && !strcmp(text, key);
	arena_release(&a);
	return is;
}

struct jsonc *jsonc_member(const struct setup_draft *d, const struct jsonc *object,
			   const char *key)
{
	struct jsonc *v = object && object->kind == '{' ? object->last : NULL;

	while (v && !has_key(d, v, key))
		v = v->prev;
	return v;
}

json_t *jsonc_value(struct arena *a, const struct setup_draft *d, const struct jsonc *v)
{
	json_t *out = v->kind == '{'   ? json_object()
		      : v->kind == '[' ? json_array()
				       : NULL;
	const struct jsonc *part;
	const char *key;

	for (part = v->first; part; part = part->next)
		if (v->kind == '[')
			json_array_append_new(out, jsonc_value(a, d, part));
		else if ((key = unquote(a, d, part->key_from, part->key_to)))
			json_object_set_new(out, key, jsonc_value(a, d, part));
	if (!out)
		out = json_loadb(d->text.data + v->from, v->to - v->from, JSON_DECODE_ANY,
				 NULL);
	return out ? out : json_null(); /* null: the bytes are no UTF-8 */
}

/* --- putting: values as text ---------------------------------------------------------------- */

/* The layout of inserted text. */
struct look {
	const char *eol, *word;
	struct text indent, unit;
	bool flat; /* the inserted text is on one line */
};

static void add_break(struct text *out, const struct look *look, int depth)
{
	if (look->flat) {
		text_add(out, " ", 1);
		return;
	}
	text_addf(out, "%s", look->eol);
	text_add(out, look->indent.data, look->indent.len);
	while (depth--)
		text_add(out, look->unit.data, look->unit.len);
}

/* Adds `json`, which is JSON without blanks, and gives the added text the layout `look`. Arrays
 * of objects are split into lines, but arrays of words are not split. */
static void jsonc_add_value(struct text *out, const struct look *look, const char *json)
{
	bool words = false; /* inside an array of words */
	int depth = 0;

	for (const char *s = json; *s; s++) {
		size_t n = *s == '"' ? strcspn(s + 1, "\"") + 2 : 1;

		if (*s == '}' || (*s == ']' && !words))
			add_break(out, look, --depth);
		if (n == 3 && s[1] == '@')
			text_add_json(out, look->word);
		else
			text_add(out, s, n);
		s += n - 1;
		if (*s == '[' || *s == ']')
			words = *s == '[' && s[1] != '{';
		if (*s == '{' || (*s == '[' && !words))
			add_break(out, look, ++depth);
		else if (*s == ',' && !words)
			add_break(out, look, depth);
		else if (*s == ',' || *s == ':')
			text_add(out, " ", 1);
	}
}

/* --- putting: the place ---------------------------------------------------------------------- */

static bool has_line_end(const struct setup_draft *d, size_t from, size_t to)
{
	return memchr(d->text.data + from, '\n', to - from) ||
	       memchr(d->text.data + from, '\r', to - from);
}

/* Adds one level of indentation to `unit`, namely the blanks that stand before the root's first
 * member. If this member begins no line or has no indentation, adds two blanks. */
static void find_unit(const struct setup_draft *d, const struct jsonc *root,
		      struct text *unit)
{
	if (root && root->first && has_line_end(d, root->from, jsonc_start(root->first)))
		draft_indent(d, jsonc_start(root->first), unit);
	if (!unit->len)
		text_add(unit, "  ", 2);
}

/* The end of the comments that follow `at` and end on the same line; returns `at` if no comment
 * follows. */
static size_t behind_comments(const struct setup_draft *d, size_t at)
{
	for (;;) {
		size_t from = at + strspn(d->text.data + at, " \t");
		size_t to = comment_end(d->text.data, from);

		if (to == from)
			return at;
		at = to;
		if (has_line_end(d, from, to))
			return at;
	}
}

/* Puts a member behind the last member of `c`, in the layout of the other members. The top of
 * jsonc.h explains how the first member of an empty `c` is put. */
static void jsonc_put_member(struct setup_draft *d, const struct jsonc *c,
			     struct look *look, const char *key, const char *json)
{
	const struct jsonc *last = c->last;
	bool lines = last && has_line_end(d, c->from, jsonc_start(c->first));
	size_t at = last ? behind_comments(d, last->comma ? last->comma + 1 : last->to)
			 : c->from + 1;
	struct text out = { 0 };

	look->flat = last && !has_line_end(d, c->from, c->to);
	draft_indent(d, lines ? jsonc_start(c->first) : c->from, &look->indent);
	if (!lines)
		text_add(&look->indent, look->unit.data, look->unit.len);
	if (last)
		add_break(&out, look, 0);
	if (key)
		text_addf(&out, "\"%s\": ", key);
	jsonc_add_value(&out, look, json);
	if (last && last->comma)
		text_add(&out, ",", 1);
	draft_splice(d, at, at, out.data, out.len);
	if (last && !last->comma)
		draft_splice(d, last->to, last->to, ",", 1);
	text_release(&out);
}

/* Wraps the text of `value` in objects, and adds the result. The place's keys from number
 * `from` on give one object each. With `push`, `value` is the item of an array in the innermost
 * object. */
static void jsonc_wrap(struct text *out, const struct jsonc_place *p, int from,
		       const char *value)
{
	int n = 0;

	while (p->keys[n])
		n++;
	for (int i = from; i < n; i++)
		text_addf(out, "{\"%s\":", p->keys[i]);
	text_addf(out, p->push && from <= n ? "[%s]" : "%s", value);
	for (int i = from; i < n; i++)
		text_add(out, "}", 1);
}

/* Follows the place's keys as far as the objects and arrays exist. Returns the last of these
 * objects and arrays. `*depth` is the number of keys that lead to the returned value. NULL with
 * a fault: a value on the way has the wrong kind. */
static struct jsonc *find_innermost(const struct setup_draft *d,
				    const struct jsonc_place *p, struct jsonc *root,
				    int *depth, struct fault *f)
{
	struct jsonc *c = root, *next;

	for (*depth = 0;; ++*depth) {
		const char *key = p->keys[*depth];
		char want = key ? '{' : '[';

		if (c->kind != want) {
			jsonc_refuse(d, c->from, f, "%s%.60s is no %s",
				     *depth ? "" : "the file",
				     *depth ? p->keys[*depth - 1] : "",
				     want == '{' ? "object" : "array");
			return NULL;
		}
		if (!key || !(next = jsonc_member(d, c, key)))
			return c;
		c = next;
	}
}

int jsonc_put(struct setup_draft *d, const struct jsonc_place *p, const char *value,
	      const char *word, const struct jsonc_beside *beside, struct fault *f)
{
	struct look look = { .eol = draft_eol(d, 0, d->text.len), .word = word };
	struct jsonc *root, *c = NULL;
	struct text json = { 0 };
	struct arena a = { 0 };
	int depth = -1; /* number of keys that exist; -1: the text is blank */

	if (jsonc_read(&a, d, &root, f) == 0 && root)
		c = find_innermost(d, p, root, &depth, f);
	if (!f->code) {
		find_unit(d, root, &look.unit);
		jsonc_wrap(&json, p, depth + 1, value);
		if (c)
			jsonc_put_member(d, c, &look, p->keys[depth], json.data);
		else
			jsonc_add_value(&d->text, &look, json.data);
		if (!d->there)
			text_addf(&d->text, "%s", look.eol);
		d->there = true;
	}
	if (!f->code && beside && beside->key && depth <= (beside->anew ? -1 : 0) &&
	    !jsonc_member(d, root, beside->key))
		jsonc_put(d, &(struct jsonc_place){ .keys = { beside->key } },
			  beside->value, NULL, NULL, f);
	text_release(&json);
	text_release(&look.indent);
	text_release(&look.unit);
	arena_release(&a);
	return f->code;
}

/* --- removing ------------------------------------------------------------------------------------ */

/* Whether `c` is an object or array that setup made, and whose only member is `v`. */
static bool jsonc_is_made(const struct setup_draft *d, const struct jsonc *c,
			  const struct jsonc *v)
{
	size_t before = c->from + 1, behind = v->comma ? v->comma + 1 : v->to;

	return c->first == v && c->last == v && jsonc_start(v) > before &&
	       before + strspn(d->text.data + before, BLANKS) == jsonc_start(v) &&
	       behind + strspn(d->text.data + behind, BLANKS) == c->to - 1;
}

/* Removes a member and the blanks before it; returns the number of removed bytes. */
static size_t jsonc_cut_member(struct setup_draft *d, const struct jsonc *v)
{
	const struct jsonc *prev = v->prev;
	size_t start = jsonc_start(v), end = v->comma ? v->comma + 1 : v->to, from;
	size_t low = !prev ? v->up->from + 1 : prev->comma ? prev->comma + 1 : prev->to;
	size_t before = d->text.len;
	bool line;

	jsonc_skip(d->text.data, low, &from, &line);
	/* The text behind the member must not become a part of the comment before the member. */
	if (line && !strchr("\r\n", d->text.data[end]))
		from = start;
	draft_splice(d, from, end, "", 0);
	if (!v->comma && prev && prev->comma)
		draft_splice(d, prev->comma, prev->comma + 1, "", 0);
	return before - d->text.len;
}

/* Removes the member that setup has added beside `v`, if this member is the last member and
 * directly behind `v`. */
static void cut_beside(struct setup_draft *d, struct jsonc *v,
		       const struct jsonc_beside *beside)
{
	const char *value = beside->value;
	struct jsonc *next = v->next;

	if (!next || next->next || jsonc_member(d, v->up, beside->key) != next)
		return;
	if (strlen(value) != next->to - next->from ||
	    memcmp(d->text.data + next->from, value, next->to - next->from) != 0)
		return;
	v->up->to -= jsonc_cut_member(d, next);
	v->up->last = v;
	v->next = NULL;
	v->comma = next->comma ? v->comma : 0;
}

void jsonc_cut(struct setup_draft *d, struct jsonc *v, const struct jsonc_beside *beside)
{
	while (v->up && jsonc_is_made(d, v->up, v)) {
		v = v->up;
		if (beside && beside->key && v->up && !v->up->up)
			cut_beside(d, v, beside);
	}
	if (v->up) {
		jsonc_cut_member(d, v);
		return;
	}
	draft_splice(d, v->from, v->to, "", 0);
	d->there = v->from || strcmp(d->text.len ? d->text.data : "",
				     draft_eol(d, 0, d->text.len)) != 0;
}
