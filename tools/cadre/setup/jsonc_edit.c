#include <stdio.h>
#include <string.h>

#include "tools/cadre/setup/jsonc.h"

/* --- values as text --------------------------------------------------------------------- */

/* The look of what is put in. */
struct look {
	const char *eol;
	struct text indent, unit;
	bool flat; /* on one line */
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

static void jsonc_edit_add_value(struct text *out, const struct look *look,
				 const json_t *v, int depth);

static void jsonc_edit_add_member(struct text *out, const struct look *look,
				  const char *key, const json_t *v, int depth)
{
	if (key) {
		text_add_json(out, key);
		text_add(out, ": ", 2);
	}
	jsonc_edit_add_value(out, look, v, depth);
}

static void add_object(struct text *out, const struct look *look, const json_t *object,
		       int depth)
{
	const char *key;
	json_t *v;
	bool more = false;

	json_object_foreach((json_t *)object, key, v) {
		text_add(out, more ? "," : "{", 1);
		more = true;
		add_break(out, look, depth + 1);
		jsonc_edit_add_member(out, look, key, v, depth + 1);
	}
	add_break(out, look, depth);
	text_add(out, "}", 1);
}

/* Arrays of objects are broken into lines, those of words are not. */
static void add_array(struct text *out, const struct look *look, const json_t *array,
		      int depth)
{
	bool broken = json_is_object(json_array_get(array, 0));
	const json_t *v;
	size_t i;

	json_array_foreach(array, i, v) {
		text_add(out, i ? "," : "[", 1);
		if (broken)
			add_break(out, look, depth + 1);
		else if (i)
			text_add(out, " ", 1);
		jsonc_edit_add_value(out, look, v, depth + 1);
	}
	if (broken)
		add_break(out, look, depth);
	text_add(out, "]", 1);
}

static void jsonc_edit_add_value(struct text *out, const struct look *look,
				 const json_t *v, int depth)
{
	if (json_is_object(v))
		add_object(out, look, v, depth);
	else if (json_is_array(v))
		add_array(out, look, v, depth);
	else if (json_is_string(v))
		text_add_json(out, json_string_value(v));
	else if (json_is_boolean(v))
		text_addf(out, "%s", json_is_true(v) ? "true" : "false");
	else
		text_addf(out, "%lld", (long long)json_integer_value(v));
}

/* --- putting ----------------------------------------------------------------------------------- */

static bool has_line_end(const struct setup_draft *d, size_t from, size_t to)
{
	return memchr(d->text.data + from, '\n', to - from) ||
	       memchr(d->text.data + from, '\r', to - from);
}

/* The indentation of a level: that of the root's first member, if it has a line of its own. */
static void find_unit(const struct setup_draft *d, const struct jsonc *root,
		      struct text *unit)
{
	if (root && root->first && has_line_end(d, root->from, jsonc_start(root->first)))
		draft_indent(d, jsonc_start(root->first), unit);
	if (!unit->len)
		text_add(unit, "  ", 2);
}

/* The end of the last comment that begins on the line of the byte `at`, where only comments
 * stand between. */
static size_t behind_comments(const struct setup_draft *d, size_t at)
{
	for (;;) {
		size_t from = at + strspn(d->text.data + at, " \t");
		const char *s = d->text.data + from;

		if (s[0] != '/')
			return at;
		if (s[1] == '/')
			return from + strcspn(s, "\r\n");
		at = (size_t)(strstr(s + 2, "*/") + 2 - d->text.data);
		if (has_line_end(d, from, at))
			return at;
	}
}

/* Puts a member behind the last one of `c`, in the look of the others. */
static void put_last(struct setup_draft *d, const struct jsonc *c, struct look *look,
		     const char *key, const json_t *v)
{
	const struct jsonc *last = c->last;
	bool lines = has_line_end(d, c->from, jsonc_start(c->first));
	size_t at = behind_comments(d, last->comma ? last->comma + 1 : last->to);
	struct text out = { 0 };

	look->flat = !has_line_end(d, c->from, c->to);
	draft_indent(d, lines ? jsonc_start(c->first) : c->from, &look->indent);
	if (!lines)
		text_add(&look->indent, look->unit.data, look->unit.len);
	add_break(&out, look, 0);
	jsonc_edit_add_member(&out, look, key, v, 0);
	if (last->comma)
		text_add(&out, ",", 1);
	draft_splice(d, at, at, out.data, out.len);
	if (!last->comma)
		draft_splice(d, last->to, last->to, ",", 1);
	text_release(&out);
}

/* Puts a member into `c`, which holds none: see the top of jsonc.h. */
static void put_first(struct setup_draft *d, const struct jsonc *c, struct look *look,
		      const char *key, const json_t *v)
{
	struct text out = { 0 };

	draft_indent(d, c->from, &look->indent);
	text_add(&look->indent, look->unit.data, look->unit.len);
	jsonc_edit_add_member(&out, look, key, v, 0);
	draft_splice(d, c->from + 1, c->from + 1, out.data, out.len);
	text_release(&out);
}

/* Puts a value into a text that is blank. */
static void put_root(struct setup_draft *d, struct look *look, const json_t *v)
{
	struct text out = { 0 };

	jsonc_edit_add_value(&out, look, v, 0);
	if (!d->there)
		text_addf(&out, "%s", look->eol);
	draft_splice(d, d->text.len, d->text.len, out.data, out.len);
	d->there = true;
	text_release(&out);
}

/* The value that is put under the key number `from` of a place (-1: the whole text). */
static json_t *wrap(const struct jsonc_place *p, int from, json_t *value)
{
	json_t *v = p->push ? json_pack("[O]", value) : json_incref(value);
	int n = 0;

	while (p->keys[n])
		n++;
	while (--n > from)
		v = json_pack("{so}", p->keys[n], v);
	return v;
}

/* The place's value or innermost object that is there, and in `*depth` the number of keys that
 * lead to it; NULL with a fault: one is of another kind. */
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

/* Puts a value; returns the number of keys that were there, -1: the text was blank. */
static int jsonc_edit_put_value(struct setup_draft *d, const struct jsonc_place *p,
				struct jsonc *root, json_t *value, struct fault *f)
{
	struct look look = { .eol = draft_eol(d) };
	struct jsonc *c = NULL;
	int depth = -1;
	json_t *v;

	find_unit(d, root, &look.unit);
	if (root && !(c = find_innermost(d, p, root, &depth, f))) {
		text_release(&look.unit);
		return f->code;
	}
	v = depth >= 0 && !p->keys[depth] ? json_incref(value) : wrap(p, depth, value);
	if (!c)
		put_root(d, &look, v);
	else
		(c->first ? put_last : put_first)(d, c, &look, p->keys[depth], v);
	json_decref(v);
	text_release(&look.indent);
	text_release(&look.unit);
	return depth;
}

int jsonc_put(struct setup_draft *d, const struct jsonc_place *p, json_t *value,
	      const struct jsonc_beside *beside, struct fault *f)
{
	struct arena a = { 0 };
	struct jsonc *root;
	int depth = 1;

	if (jsonc_read(&a, d, &root, f) == 0)
		depth = jsonc_edit_put_value(d, p, root, value, f);
	if (!f->code && beside && beside->key && depth <= (beside->anew ? -1 : 0) &&
	    !(root && jsonc_member(d, root, beside->key))) {
		const struct jsonc_place at = { .keys = { beside->key } };
		json_t *v = json_loads(beside->value, JSON_DECODE_ANY, NULL);

		jsonc_put(d, &at, v, NULL, f);
		json_decref(v);
	}
	arena_release(&a);
	return f->code;
}

void jsonc_set(struct setup_draft *d, const struct jsonc *v, const char *text)
{
	struct text out = { 0 };

	text_add_json(&out, text);
	draft_splice(d, v->from, v->to, out.data, out.len);
	text_release(&out);
}

/* --- taking away --------------------------------------------------------------------------------- */

static size_t blanks(const struct setup_draft *d, size_t at)
{
	return at + strspn(d->text.data + at, " \t\r\n");
}

/* Whether setup made `c`, whose only member is `v`. */
static bool jsonc_edit_is_made(const struct setup_draft *d, const struct jsonc *c,
			       const struct jsonc *v)
{
	return c->first == v && c->last == v && jsonc_start(v) > c->from + 1 &&
	       blanks(d, c->from + 1) == jsonc_start(v) &&
	       blanks(d, v->comma ? v->comma + 1 : v->to) == c->to - 1;
}

/* Takes a member out with the blanks before it; returns the number of bytes. */
static size_t jsonc_edit_cut(struct setup_draft *d, const struct jsonc *v)
{
	const struct jsonc *prev = v->prev;
	size_t start = jsonc_start(v), end = v->comma ? v->comma + 1 : v->to,
	       from = start;
	size_t low = !prev ? v->up->from + 1 : prev->comma ? prev->comma + 1 : prev->to;
	size_t before = d->text.len;
	bool line;

	while (from > low && strchr(" \t\r\n", d->text.data[from - 1]))
		from--;
	jsonc_skip(d, low, from, &line);
	/* A comment must not swallow what comes behind it then. */
	if (line && !strchr("\r\n", d->text.data[end]))
		from = start;
	draft_splice(d, from, end, "", 0);
	if (!v->comma && prev && prev->comma)
		draft_splice(d, prev->comma, prev->comma + 1, "", 0);
	return before - d->text.len;
}

/* Takes out the member that came with `v`, which setup made: the last one, behind it. */
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
	v->up->to -= jsonc_edit_cut(d, next);
	v->up->last = v;
	v->next = NULL;
	v->comma = next->comma ? v->comma : 0;
}

void jsonc_cut(struct setup_draft *d, struct jsonc *v, const struct jsonc_beside *beside)
{
	while (v->up && jsonc_edit_is_made(d, v->up, v)) {
		v = v->up;
		if (beside && beside->key && v->up && !v->up->up)
			cut_beside(d, v, beside);
	}
	if (v->up) {
		jsonc_edit_cut(d, v);
		return;
	}
	draft_splice(d, v->from, v->to, "", 0);
	d->there = v->from || strcmp(d->text.len ? d->text.data : "", draft_eol(d)) != 0;
}
