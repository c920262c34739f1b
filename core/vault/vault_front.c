#include "core/vault/vault_front.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/vault/vault_text.h"

enum { FRONT_MOST = 64 << 10 };

/* A frontmatter in the text of a note. `inner` is the text between the fences. */
struct frontmatter {
	const char *data;
	size_t size; /* bytes with the fences; 0: there is no frontmatter */
	const char *inner;
	size_t len;
	json_t *map; /* the struct owns this reference */
	struct note_keys keys;
};

static size_t line_end(const char *data, size_t len, size_t at)
{
	const char *end = memchr(data + at, '\n', len - at);

	return end ? (size_t)(end - data) + 1 : len;
}

static int vault_front_too_long(struct call *call)
{
	return fault_set(&call->fault, FAULT_CONFLICT, "/path",
			 "the frontmatter is over 64 KiB");
}

static int read_map(struct call *call, struct frontmatter *f)
{
	const struct notes *notes = call->settings->notes;

	return notes->yaml(f->inner, f->len, &f->map, &f->keys, &call->arena,
			   &call->fault);
}

static int find_front(struct call *call, const char *data, size_t len,
		      struct frontmatter *f)
{
	size_t last;

	*f = (struct frontmatter){ .data = data, .size = vault_note_front(data, len) };
	if (!f->size) {
		f->map = json_object();
		return 0;
	}
	if (f->size > FRONT_MOST)
		return vault_front_too_long(call);
	/* The last line is the closing fence, whether or not a newline ends it. */
	for (last = f->size - 1; last > 0 && data[last - 1] != '\n'; last--)
		;
	f->inner = data + line_end(data, len, 0);
	f->len = (size_t)(data + last - f->inner);
	return read_map(call, f);
}

int front_read(struct call *call, const char *data, size_t len, json_t **out)
{
	struct frontmatter f;
	int rc = find_front(call, data, len, &f);

	if (rc == 0)
		*out = f.map;
	return rc;
}

/* --- values as YAML -------------------------------------------------------------- */

/* Whether YAML would read the word without quotes as something other than a text. */
static bool is_special(const char *s)
{
	static const char *const words[] = { "true", "false", "null", "yes", "no",
					     "on",   "off",   "y",    "n" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcasecmp(s, words[i]) == 0)
			return true;
	return false;
}

static bool vault_front_is_plain(const char *s)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	static const char more[] = "0123456789./@+-() ";
	size_t n = strlen(s);

	if (!n || !strchr(letters, *s) || s[n - 1] == ' ' || n > 500 || is_special(s))
		return false;
	for (; *s; s++)
		if (!strchr(letters, *s) && !strchr(more, *s))
			return false;
	return true;
}

/* The number of bytes of a character that YAML refuses or folds. `*point` is the character's
 * code point. 0: YAML takes the character. */
static size_t unprintable(const unsigned char *s, unsigned *point)
{
	size_t n = 0;

	if (*s < ' ' || *s == 0x7f)
		*point = *s, n = 1;
	else if (*s == 0xc2 && s[1] < 0xa0)
		*point = s[1], n = 2;
	else if (*s == 0xe2 && s[1] == 0x80 && (s[2] == 0xa8 || s[2] == 0xa9))
		*point = 0x2000u + s[2] - 0x80, n = 3;
	else if (*s == 0xef && s[1] == 0xbb && s[2] == 0xbf)
		*point = 0xfeff, n = 3;
	else if (*s == 0xef && s[1] == 0xbf && s[2] >= 0xbe)
		*point = 0xff00u + s[2] + 0x40, n = 3;
	return n;
}

static void add_text(struct text *t, const char *s)
{
	unsigned point = 0;
	size_t n;

	if (vault_front_is_plain(s)) {
		text_add(t, s, strlen(s));
		return;
	}
	text_add(t, "\"", 1);
	for (; *s; s += n) {
		n = unprintable((const unsigned char *)s, &point);
		if (n) {
			text_addf(t, "\\u%04x", point);
			continue;
		}
		if (*s == '"' || *s == '\\')
			text_add(t, "\\", 1);
		text_add(t, s, n = 1);
	}
	text_add(t, "\"", 1);
}

/* Writes a real with the fewest digits that keep its value, and never as an integer. */
static void add_real(struct text *t, double d)
{
	char number[40];

	snprintf(number, sizeof(number), "%.15g", d);
	if (strtod(number, NULL) != d)
		snprintf(number, sizeof(number), "%.17g", d);
	text_addf(t, "%s%s", number, strpbrk(number, ".e") ? "" : ".0");
}

static void vault_front_add_value(struct text *t, json_t *v);

static void add_list(struct text *t, json_t *list)
{
	json_t *item;
	size_t i;

	text_add(t, "[", 1);
	json_array_foreach(list, i, item) {
		text_addf(t, "%s", i ? ", " : "");
		vault_front_add_value(t, item);
	}
	text_add(t, "]", 1);
}

static void add_map(struct text *t, json_t *map)
{
	bool first = true;
	const char *key;
	json_t *value;

	text_add(t, "{", 1);
	json_object_foreach(map, key, value) {
		text_addf(t, "%s", first ? "" : ", ");
		first = false;
		add_text(t, key);
		text_add(t, ": ", 2);
		vault_front_add_value(t, value);
	}
	text_add(t, "}", 1);
}

static void vault_front_add_value(struct text *t, json_t *v)
{
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		add_map(t, v);
		return;
	case JSON_ARRAY:
		add_list(t, v);
		return;
	case JSON_STRING:
		add_text(t, json_string_value(v));
		return;
	case JSON_INTEGER:
		text_addf(t, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
		return;
	case JSON_REAL:
		add_real(t, json_real_value(v));
		return;
	case JSON_TRUE:
	case JSON_FALSE:
		text_addf(t, json_is_true(v) ? "true" : "false");
		return;
	case JSON_NULL:
		text_addf(t, "null");
		return;
	}
}

static void vault_front_add_key(struct text *t, const char *key, json_t *value)
{
	add_text(t, key);
	text_add(t, ": ", 2);
	vault_front_add_value(t, value);
	text_add(t, "\n", 1);
}

/* --- editing ------------------------------------------------------------------------ */

/* The offset of line `line` of the frontmatter. */
static size_t vault_front_line_at(const struct frontmatter *f, size_t line)
{
	size_t at = 0;

	while (line-- > 0 && at < f->len)
		at = line_end(f->inner, f->len, at);
	return at;
}

/* The end of a key's lines. Blank lines and comments before the next key belong to the next
 * key. */
static size_t key_end(const struct frontmatter *f, size_t i)
{
	size_t start = vault_front_line_at(f, f->keys.v[i].line);
	size_t next = i + 1 < f->keys.n ? vault_front_line_at(f, f->keys.v[i + 1].line)
					: f->len;
	size_t end = line_end(f->inner, f->len, start);

	for (size_t at = end; at < next; at = line_end(f->inner, f->len, at)) {
		char c = f->inner[at];

		if (c != '#' && c != '\n' && c != '\r')
			end = line_end(f->inner, f->len, at);
	}
	return end;
}

/* Writes each changed key in its place, and new keys at the end. */
static void edit_lines(const struct frontmatter *f, json_t *changes, struct text *out)
{
	json_t *left = json_copy(changes), *value;
	const char *key;
	size_t at = 0;

	for (size_t i = 0; i < f->keys.n; i++) {
		const char *name = f->keys.v[i].name;

		if (!(value = json_object_get(changes, name)))
			continue;
		text_add(out, f->inner + at,
			 vault_front_line_at(f, f->keys.v[i].line) - at);
		at = key_end(f, i);
		if (!json_is_null(value) && json_object_get(left, name))
			vault_front_add_key(out, name, value);
		json_object_del(left, name);
	}
	if (f->len > at)
		text_add(out, f->inner + at, f->len - at);
	json_object_foreach(left, key, value)
		if (!json_is_null(value))
			vault_front_add_key(out, key, value);
	json_decref(left);
}

static void write_anew(json_t *map, struct text *out)
{
	const char *key;
	json_t *value;

	json_object_foreach(map, key, value)
		vault_front_add_key(out, key, value);
}

/* The mapping of the frontmatter after the changes. */
static json_t *vault_front_wanted(const struct frontmatter *f, json_t *changes)
{
	json_t *map = json_copy(f->map), *value;
	const char *key;

	json_object_foreach(changes, key, value) {
		if (json_is_null(value))
			json_object_del(map, key);
		else
			json_object_set(map, key, value);
	}
	return map;
}

/* Whether the text, read as YAML, has exactly the mapping `map`. */
static bool vault_front_says(struct call *call, const struct text *t, json_t *map)
{
	const struct notes *notes = call->settings->notes;
	struct fault none = { 0 };
	json_t *back = NULL;
	bool same = notes->yaml(t->data ? t->data : "", t->len, &back, NULL, &call->arena,
				&none) == 0 &&
		    json_equal(back, map);

	json_decref(back);
	return same;
}

/* Writes the lines between the fences. Lines of unchanged keys stay as a person wrote them. If
 * the frontmatter cannot be edited line by line, all its lines are written anew. */
static int make_inner(struct call *call, const struct frontmatter *f, json_t *changes,
		      struct text *inner)
{
	json_t *map = vault_front_wanted(f, changes);
	int rc = 0;

	if (f->keys.n || !json_object_size(f->map))
		edit_lines(f, changes, inner);
	if (!vault_front_says(call, inner, map)) {
		inner->len = 0;
		write_anew(map, inner);
	}
	if (inner->len > FRONT_MOST)
		rc = vault_front_too_long(call);
	else if (!vault_front_says(call, inner, map))
		rc = fault_set(&call->fault, FAULT_INVALID, "/frontmatter",
			       "a value cannot be written in YAML");
	json_decref(map);
	return rc;
}

int front_write(struct call *call, const struct text *old, json_t *changes,
		struct text *out)
{
	const char *data = old->data ? old->data : "";
	struct text inner = { 0 };
	struct frontmatter f = { 0 };
	int rc = find_front(call, data, old->len, &f);

	if (rc == 0)
		rc = make_inner(call, &f, changes, &inner);
	if (rc == 0 && !f.size && !inner.len)
		text_add(out, data, old->len); /* the note needs no frontmatter */
	else if (rc == 0) {
		const char *fence = f.size ? f.inner + f.len : "---\n";

		text_add(out, f.size ? data : "---\n",
			 f.size ? (size_t)(f.inner - data) : 4);
		text_add(out, inner.data ? inner.data : "", inner.len);
		text_add(out, fence, f.size ? f.size - (size_t)(fence - data) : 4);
		text_add(out, data + f.size, old->len - f.size);
	}
	text_release(&inner);
	json_decref(f.map);
	return rc;
}

/* --- tags -------------------------------------------------------------------------------- */

static void add_tag(struct arena *a, const char *s, size_t n, const char ***tags,
		    size_t *n_tags)
{
	while (n && strchr(" \t#", *s))
		s++, n--;
	while (n && strchr(" \t", s[n - 1]))
		n--;
	if (n)
		arena_add(a, *tags, *n_tags, arena_strndup(a, s, n));
}

static void vault_front_add_words(struct arena *a, const char *s, const char ***tags,
				  size_t *n)
{
	while (*s) {
		size_t len = strcspn(s, ",");

		add_tag(a, s, len, tags, n);
		s += len + (s[len] == ',');
	}
}

size_t front_tags(json_t *front, struct arena *a, const char ***tags)
{
	json_t *all = json_object_get(front, "tags"), *tag;
	size_t n = 0, i;

	*tags = NULL;
	if (json_is_string(all))
		vault_front_add_words(a, json_string_value(all), tags, &n);
	json_array_foreach(all, i, tag)
		if (json_is_string(tag))
			add_tag(a, json_string_value(tag), json_string_length(tag), tags,
				&n);
	return n;
}
