#include "core/config/toml.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/config/toml_inside.h"

struct toml_table *toml_table_new(struct arena *a, enum toml_made made, int depth)
{
	struct toml_table *t = arena_alloc(a, sizeof(*t));

	t->made = made;
	t->depth = depth;
	return t;
}

static bool toml_table_is_key(const struct toml_entry *e, const char *key, size_t len)
{
	return e->key.len == len && !memcmp(e->key.data, key, len);
}

/* Finds the bucket of a key. */
static struct toml_entry **toml_table_bucket_of(const struct toml_table *t,
						const char *key, size_t len)
{
	uint64_t h = hash_more(HASH_EMPTY, key, len);

	return &t->buckets[(h ^ h >> 32) & (t->n_buckets - 1)];
}

struct toml_entry *toml_find(const struct toml_table *t, const char *key, size_t len)
{
	struct toml_entry *e;

	if (!t->buckets) {
		for (e = t->first; e && !toml_table_is_key(e, key, len);)
			e = e->next;
		return e;
	}
	for (e = *toml_table_bucket_of(t, key, len);
	     e && !toml_table_is_key(e, key, len);)
		e = e->chain;
	return e;
}

static void link_entry(const struct toml_table *t, struct toml_entry *e)
{
	struct toml_entry **bucket = toml_table_bucket_of(t, e->key.data, e->key.len);

	e->chain = *bucket;
	*bucket = e;
}

/* Adds an index to a table that has too many keys for a linear search. Few tables need an
 * index. */
static void toml_table_grow(struct arena *a, struct toml_table *t)
{
	t->n_buckets = t->n_buckets ? t->n_buckets * 4 : 32;
	t->buckets = arena_alloc(a, t->n_buckets * sizeof(struct toml_entry *));
	for (struct toml_entry *e = t->first; e; e = e->next)
		link_entry(t, e);
}

/* Adds a key that the table must not hold yet. */
static struct toml_entry *toml_add(struct arena *a, struct toml_table *t,
				   const struct toml_key *key)
{
	struct toml_entry *e = arena_alloc(a, sizeof(*e));

	e->key = key->name;
	e->at = key->at;
	*(t->last ? &t->last->next : &t->first) = e;
	t->last = e;
	t->n++;
	if (t->n > (t->n_buckets ? t->n_buckets : 8))
		toml_table_grow(a, t);
	else if (t->buckets)
		link_entry(t, e);
	return e;
}

struct toml_value *toml_push(struct arena *a, struct toml_array *array)
{
	return arena_push(a, &array->items, &array->n, sizeof(struct toml_value));
}

/*
 * toml_lines - the places of headers and pairs in the text of a TOML document.
 */

/* --- faults --------------------------------------------------------------------- */

/* The last 97 bytes of a path of over 100 bytes, else the whole path. The end of a path says
 * more than the beginning. */
static const char *tail(const char *file, const char **dots)
{
	size_t n = strlen(file);

	*dots = n > 100 ? "..." : "";
	return n > 100 ? file + n - 97 : file;
}

int toml_refuse(const char *file, struct toml_place at, struct fault *f, const char *fmt,
		...)
{
	char text[140];
	const char *dots;
	va_list ap;

	file = tail(file, &dots);
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (f->code)
		return f->code;
	fault_set(f, FAULT_INVALID, "", "%s%s:%d:%d: %s", dots, file, at.line, at.column,
		  text);
	return fault_hint(f, "Correct line %d of the file.", at.line);
}

struct toml_place toml_here(const struct toml_reader *r)
{
	return (struct toml_place){ r->line, (int)(r->s - r->line_at) + 1 };
}

/* --- blanks and comments ----------------------------------------------------------- */

void toml_skip_blanks(struct toml_reader *r)
{
	r->s += strspn(r->s, " \t");
}

bool toml_skip_newline(struct toml_reader *r)
{
	const char *s = r->s + (*r->s == '\r');

	if (*s != '\n')
		return false;
	r->s = r->line_at = s + 1;
	r->line++;
	return true;
}

static void skip_comment(struct toml_reader *r)
{
	if (*r->s == '#')
		r->s += strcspn(r->s, "\r\n");
}

void toml_skip_lines(struct toml_reader *r)
{
	do {
		toml_skip_blanks(r);
		skip_comment(r);
	} while (toml_skip_newline(r));
}

/* Reads the rest of the line behind a pair or a header: only a comment may follow on the same
 * line. */
static int toml_end_line(struct toml_reader *r)
{
	toml_skip_blanks(r);
	skip_comment(r);
	if (*r->s && !toml_skip_newline(r))
		return toml_wrong(r, "only a comment may follow here");
	return 0;
}

/* --- keys -------------------------------------------------------------------------- */

static int read_key_part(struct toml_reader *r, struct toml_text *name)
{
	static const char bare[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789-_";

	if (*r->s == '"' || *r->s == '\'')
		return toml_read_text(r, false, name);
	name->len = strspn(r->s, bare);
	if (!name->len)
		return toml_wrong(
			r, "a key has only letters, digits, - and _, or is in quotes");
	name->data = arena_strndup(r->arena, r->s, name->len);
	r->s += name->len;
	return 0;
}

static int toml_too_deep(struct toml_reader *r, struct toml_place at)
{
	return toml_wrong_at(r, at, "tables and arrays are nested more than %d deep",
			     TOML_DEPTH);
}

static int toml_is_there(struct toml_reader *r, const struct toml_key *key,
			 const struct toml_entry *e)
{
	return toml_wrong_at(r, key->at, "'%.60s' is defined already, in line %d",
			     key->name.data, e->at.line);
}

/* Adds a table under a key that does not exist yet. */
static struct toml_table *add_table(struct toml_reader *r, struct toml_table *t,
				    const struct toml_key *key, enum toml_made made)
{
	struct toml_entry *e;

	if (t->depth >= TOML_DEPTH) {
		toml_too_deep(r, key->at);
		return NULL;
	}
	e = toml_add(r->arena, t, key);
	e->value.kind = TOML_TABLE;
	e->value.at = key->at;
	e->value.table = toml_table_new(r->arena, made, t->depth + 1);
	return e->value.table;
}

/* --- pairs --------------------------------------------------------------------------- */

/* Enters the table `key`, and makes the table if it is missing. `key` is a part of a dotted
 * key, or the last part of a header. Dotted keys and headers may enter a table that was made by
 * the header of a lower table. Dotted keys may also enter tables that dotted keys made. Neither
 * dotted keys nor headers may enter a table that was made by the table's own header or by
 * braces. */
static struct toml_table *enter_table(struct toml_reader *r, struct toml_table *t,
				      const struct toml_key *key, enum toml_made made)
{
	struct toml_entry *e = toml_find(t, key->name.data, key->name.len);

	if (!e)
		return add_table(r, t, key, made);
	if (e->value.kind != TOML_TABLE ||
	    (e->value.table->made != TOML_MADE_ABOVE &&
	     (made != TOML_MADE_DOTTED || e->value.table->made != made))) {
		toml_is_there(r, key, e);
		return NULL;
	}
	e->value.table->made = made;
	return e->value.table;
}

static int toml_read_key(struct toml_reader *r, const struct toml_key **key)
{
	const struct toml_key **next = key;

	for (;;) {
		struct toml_key *part = arena_alloc(r->arena, sizeof(*part));

		part->at = toml_here(r);
		if (read_key_part(r, &part->name) < 0)
			return r->fault->code;
		*next = part;
		next = &part->next;
		toml_skip_blanks(r);
		if (*r->s != '.')
			return 0;
		r->s++;
		toml_skip_blanks(r);
	}
}

int toml_read_pair(struct toml_reader *r, struct toml_table *t)
{
	const struct toml_key *key;
	struct toml_entry *e;
	int depth = r->depth;

	if (toml_read_key(r, &key) < 0)
		return r->fault->code;
	if (*r->s != '=')
		return toml_wrong(r, "= and a value must follow a key");
	r->s++;
	toml_skip_blanks(r);
	for (; key->next; key = key->next)
		if (!(t = enter_table(r, t, key, TOML_MADE_DOTTED)))
			return r->fault->code;
	e = toml_find(t, key->name.data, key->name.len);
	if (e)
		return toml_is_there(r, key, e);
	e = toml_add(r->arena, t, key);
	r->depth = t->depth;
	toml_read_value(r, &e->value);
	r->depth = depth;
	return r->fault->code;
}

/* --- headers ------------------------------------------------------------------------- */

/* Enters the table that a part of a header names. The part is not the last part of the header.
 * If the part names an array of tables, the array's last table is entered. */
static struct toml_table *step_header(struct toml_reader *r, struct toml_table *t,
				      const struct toml_key *key)
{
	struct toml_entry *e = toml_find(t, key->name.data, key->name.len);
	const struct toml_array *array;

	if (!e)
		return add_table(r, t, key, TOML_MADE_ABOVE);
	if (e->value.kind == TOML_ARRAY && e->value.array->of_tables) {
		array = e->value.array;
		return array->items[array->n - 1].table;
	}
	if (e->value.kind == TOML_TABLE && e->value.table->made != TOML_MADE_INLINE)
		return e->value.table;
	toml_is_there(r, key, e);
	return NULL;
}

/* Adds a table to an array of tables, and makes the array if it is missing. */
static struct toml_table *open_item(struct toml_reader *r, struct toml_table *t,
				    const struct toml_key *key)
{
	struct toml_entry *e = toml_find(t, key->name.data, key->name.len);
	struct toml_value *item;

	if (t->depth + 1 >= TOML_DEPTH) {
		toml_too_deep(r, key->at);
		return NULL;
	}
	if (!e) {
		e = toml_add(r->arena, t, key);
		e->value.kind = TOML_ARRAY;
		e->value.at = key->at;
		e->value.array = arena_alloc(r->arena, sizeof(*e->value.array));
		e->value.array->of_tables = true;
	} else if (e->value.kind != TOML_ARRAY || !e->value.array->of_tables) {
		toml_is_there(r, key, e);
		return NULL;
	}
	item = toml_push(r->arena, e->value.array);
	item->kind = TOML_TABLE;
	item->at = key->at;
	item->table = toml_table_new(r->arena, TOML_MADE_HEADER, t->depth + 2);
	return item->table;
}

/* Reads a header, [a.b] or [[a.b]]. Returns the table that the header opens, or NULL for a
 * wrong header. */
static struct toml_table *toml_read_header(struct toml_reader *r, struct toml_table *t)
{
	bool item = r->s[1] == '[';
	const struct toml_key *key;

	r->s += 1 + item;
	toml_skip_blanks(r);
	if (toml_read_key(r, &key) < 0)
		return NULL;
	if (*r->s != ']' || (item && r->s[1] != ']')) {
		toml_wrong(r, "the header does not end with %s", item ? "]]" : "]");
		return NULL;
	}
	r->s += 1 + item;
	for (; t && key->next; key = key->next)
		t = step_header(r, t, key);
	if (!t)
		return NULL;
	return item ? open_item(r, t, key) : enter_table(r, t, key, TOML_MADE_HEADER);
}

/* --- the document ---------------------------------------------------------------------- */

static int toml_read_lines(struct toml_reader *r, struct toml_table *root)
{
	struct toml_table *t = root;

	for (toml_skip_lines(r); *r->s; toml_skip_lines(r)) {
		if (*r->s == '[')
			t = toml_read_header(r, root);
		else
			toml_read_pair(r, t);
		if (r->fault->code || toml_end_line(r) < 0)
			return r->fault->code;
	}
	return 0;
}

int toml_read(struct arena *a, const char *file, const char *data, size_t len,
	      struct toml_table **root, struct fault *f)
{
	bool mark = len >= 3 && !memcmp(data, "\xef\xbb\xbf", 3);
	struct toml_reader r = { .file = file, .line = 1, .arena = a, .fault = f };
	struct toml_table *t;

	if (mark) {
		data += 3;
		len -= 3;
	}
	r.s = r.line_at = len ? arena_strndup(a, data, len) : "";
	if (toml_check_bytes(&r, len) < 0)
		return f->code;
	t = toml_table_new(a, TOML_MADE_HEADER, 0);
	if (toml_read_lines(&r, t) < 0)
		return f->code;
	*root = t;
	return 0;
}

struct lines {
	struct toml_reader r;
	struct toml_text *path; /* keys of the table, then keys of the pair */
	size_t n;
};

static void toml_lines_add_keys(struct lines *l, const struct toml_key *key)
{
	for (; key; key = key->next)
		arena_add(l->r.arena, l->path, l->n, key->name);
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
	l->r.s++; /* skips the = */
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

/* --- as JSON ------------------------------------------------------------------------- */

static json_t *toml_json_of_table(const struct toml_table *t)
{
	json_t *out = json_object();

	for (const struct toml_entry *e = t->first; e; e = e->next)
		json_object_set_new(out, e->key.data, toml_json(&e->value));
	return out;
}

static json_t *toml_json_of_array(const struct toml_array *a)
{
	json_t *out = json_array();

	for (size_t i = 0; i < a->n; i++)
		json_array_append_new(out, toml_json(&a->items[i]));
	return out;
}

json_t *toml_json(const struct toml_value *v)
{
	json_t *out = NULL;

	switch (v->kind) {
	case TOML_TEXT:
		out = json_stringn(v->text.data, v->text.len);
		break;
	case TOML_INT:
		out = json_integer(v->integer);
		break;
	case TOML_REAL:
		out = json_real(v->real);
		break;
	case TOML_BOOL:
		out = json_boolean(v->boolean);
		break;
	case TOML_ARRAY:
		out = toml_json_of_array(v->array);
		break;
	case TOML_TABLE:
		out = toml_json_of_table(v->table);
		break;
	case TOML_TIME:
	case TOML_LOCAL_TIME:
	case TOML_DATE:
	case TOML_CLOCK:
		break;
	}
	return out ? out : json_object();
}
