#include "tools/cadre/setup/jsonc.h"

#include <stdio.h>
#include <string.h>

#include "core/config/toml.h"

enum { DEPTH = 200 };

struct reader {
	const struct setup_draft *d;
	const char *s; /* the text, behind which a NUL stands */
	size_t at, end;
	int depth;
	struct arena *arena;
	struct fault *fault;
};

/* --- saying what is wrong ------------------------------------------------------------ */

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

/* --- what stands between ---------------------------------------------------------------- */

static bool jsonc_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The end of the comment at `at`; `at`: there is none, or it has no end. */
static size_t comment_end(const struct setup_draft *d, size_t at, size_t end)
{
	const char *s = d->text.data;

	if (at + 1 >= end || s[at] != '/')
		return at;
	if (s[at + 1] == '/') {
		while (at < end && s[at] != '\n' && s[at] != '\r')
			at++;
		return at;
	}
	for (size_t i = at + 2; s[at + 1] == '*' && i + 1 < end; i++)
		if (s[i] == '*' && s[i + 1] == '/')
			return i + 2;
	return at;
}

size_t jsonc_skip(const struct setup_draft *d, size_t at, size_t end, bool *line)
{
	*line = false;
	for (;;) {
		size_t to = at;

		while (to < end && jsonc_is_blank(d->text.data[to]))
			to++;
		if (to > at)
			*line = false;
		at = to;
		to = comment_end(d, at, end);
		if (to == at)
			return at;
		*line = d->text.data[at + 1] == '/';
		at = to;
	}
}

static void jsonc_skip_blanks(struct reader *r)
{
	bool line;

	r->at = jsonc_skip(r->d, r->at, r->end, &line);
}

/* --- values --------------------------------------------------------------------------------- */

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static int read_string(struct reader *r)
{
	for (r->at++; r->at < r->end && r->s[r->at] != '"'; r->at++) {
		if ((unsigned char)r->s[r->at] < ' ')
			return wrong(
				r,
				"a string is not closed, or holds a control character");
		if (r->s[r->at] != '\\')
			continue;
		r->at++;
		if (r->at >= r->end || !strchr("\"\\/bfnrtu", r->s[r->at]) ||
		    !r->s[r->at])
			return wrong(r, "no such escape in a string");
		for (int i = 0; r->s[r->at] == 'u' && i < 4; i++)
			if (r->at + 4 >= r->end || !is_hex(r->s[r->at + 1 + (size_t)i]))
				return wrong(r, "\\u is followed by four digits");
	}
	if (r->at >= r->end)
		return wrong(r, "a string is not closed");
	r->at++;
	return 0;
}

static size_t digits(struct reader *r)
{
	size_t from = r->at;

	while (r->at < r->end && r->s[r->at] >= '0' && r->s[r->at] <= '9')
		r->at++;
	return r->at - from;
}

static int jsonc_read_number(struct reader *r)
{
	bool ok;

	r->at += r->s[r->at] == '-';
	if (r->s[r->at] == '0') {
		r->at++;
		ok = true;
	} else {
		ok = digits(r) > 0;
	}
	if (ok && r->s[r->at] == '.') {
		r->at++;
		ok = digits(r) > 0;
	}
	if (ok && (r->s[r->at] == 'e' || r->s[r->at] == 'E')) {
		r->at++;
		r->at += r->s[r->at] == '+' || r->s[r->at] == '-';
		ok = digits(r) > 0;
	}
	return ok ? 0 : wrong(r, "is no number");
}

static int jsonc_read_word(struct reader *r)
{
	static const char *const words[] = { "true", "false", "null" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t n = strlen(words[i]);

		if (!strncmp(r->s + r->at, words[i], n)) {
			r->at += n;
			return 0;
		}
	}
	return r->at < r->end ? wrong(r, "a value is expected here")
			      : wrong(r, "the text ends where a value is expected");
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
			return wrong(r, "a key in quotes, or } is expected here");
		if (read_string(r) < 0)
			return r->fault->code;
		v->key_to = r->at;
		jsonc_skip_blanks(r);
		if (r->s[r->at] != ':')
			return wrong(r, "a key is followed by : and its value");
		r->at++;
		jsonc_skip_blanks(r);
	}
	return read_value(r, v);
}

/* Reads what is between brackets, and the closing one. */
static int read_members(struct reader *r, struct jsonc *v)
{
	const char close = v->kind == '{' ? '}' : ']';

	if (++r->depth > DEPTH)
		return wrong(r, "more than %d objects and arrays in each other", DEPTH);
	r->at++;
	for (jsonc_skip_blanks(r); r->s[r->at] != close; jsonc_skip_blanks(r)) {
		if (v->last && !v->last->comma)
			return wrong(r, "a comma or %c is expected here", close);
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
			    .end = d->text.len,
			    .arena = a,
			    .fault = f };
	size_t from = r.at;
	struct jsonc *v;

	*root = NULL;
	if (strlen(r.s) < r.end) {
		r.at = strlen(r.s);
		return wrong(&r, "a NUL is no part of JSON");
	}
	r.at += strspn(r.s + r.at, " \t\r\n");
	if (r.at == r.end)
		return 0;
	r.at = from;
	jsonc_skip_blanks(&r);
	v = arena_alloc(a, sizeof(*v));
	v->key_from = v->key_to = r.at;
	if (read_value(&r, v) < 0)
		return f->code;
	jsonc_skip_blanks(&r);
	if (r.at < r.end)
		return wrong(&r, "only one value may be here");
	*root = v;
	return 0;
}

/* --- what they say ----------------------------------------------------------------------------- */

size_t jsonc_start(const struct jsonc *v)
{
	return v->key_to > v->key_from ? v->key_from : v->from;
}

static const char *unquote(struct arena *a, const struct setup_draft *d, size_t from,
			   size_t to)
{
	json_t *text = json_loadb(d->text.data + from, to - from, JSON_DECODE_ANY, NULL);
	const char *s = json_is_string(text) ? arena_strdup(a, json_string_value(text))
					     : NULL;

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

	if (n < 2)
		return false;
	if (!memchr(s, '\\', n))
		return n == strlen(key) + 2 && !memcmp(s + 1, key, n - 2);
	text = unquote(&a, d, v->key_from, v->key_to);
	is = text && !strcmp(text, key);
	arena_release(&a);
	return is;
}

struct jsonc *jsonc_member(const struct setup_draft *d, const struct jsonc *object,
			   const char *key)
{
	struct jsonc *v = object->kind == '{' ? object->last : NULL;

	while (v && !has_key(d, v, key))
		v = v->prev;
	return v;
}
