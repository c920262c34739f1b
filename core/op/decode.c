#include "core/base/alloc.h"
#include "core/op/op.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <regex.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- saying what is wrong ------------------------------------------------------------ */

/* A step on the way to a place in the arguments. The steps are a chain on the stack. The chain
 * is written as a JSON pointer only if there is a fault at the place. */
struct step {
	const struct step *up;
	const char *name; /* name of a member, or NULL if the step is item `at` of a
			     list */
	size_t at;
};

struct decoder {
	enum decode_mode mode;
	struct arena *arena;
	struct fault *fault;
	const struct record *in; /* the whole record */
};

static size_t put_step(const struct step *step, char *out, size_t room)
{
	size_t n = step->up ? put_step(step->up, out, room) : 0;

	if (n + 1 >= room)
		return n;
	if (!step->name)
		return n + (size_t)snprintf(out + n, room - n, "/%zu", step->at);
	out[n++] = '/';
	for (const char *p = step->name; *p && n + 3 < room; p++) {
		if (*p == '~' || *p == '/') {
			out[n++] = '~';
			out[n++] = *p == '~' ? '0' : '1';
		} else {
			out[n++] = *p;
		}
	}
	out[n] = '\0';
	return n;
}

static int bad(struct decoder *d, const struct step *step, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int bad(struct decoder *d, const struct step *step, const char *fmt, ...)
{
	/* After the text that put_step() writes, the array still has room for the digits of a
	 * list index. */
	char where[128] = "", text[256];
	va_list ap;

	if (step)
		put_step(step, where, sizeof(d->fault->where));
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return fault_set(d->fault, FAULT_INVALID, where, "%s", text);
}

/* --- texts ------------------------------------------------------------------------------ */

/* The compiled patterns, which all threads share. Compiling a pattern costs forty times as much
 * as using it, and the result never changes in a process. Each pattern is compiled at its first
 * use, and kept under the index of its type. If two threads compile the same pattern, the later
 * thread frees its own copy. regexec() locks by itself. */
static _Atomic(regex_t *) patterns[TYPE_MAX];

static const regex_t *compiled(const struct type *t)
{
	regex_t *re = atomic_load_explicit(&patterns[t->index], memory_order_acquire);
	regex_t *none = NULL;

	if (re)
		return re;
	re = xmalloc(sizeof(*re));
	/* opgen has compiled each pattern once, so only a lack of memory can make regcomp()
	 * fail. */
	if (regcomp(re, t->pattern, REG_EXTENDED | REG_NOSUB) != 0)
		out_of_memory();
	if (atomic_compare_exchange_strong(&patterns[t->index], &none, re))
		return re;
	regfree(re);
	free(re);
	return none;
}

bool type_matches(const struct type *t, const char *s)
{
	return !t->pattern || regexec(compiled(t), s, 0, NULL, 0) == 0;
}

static int check_length(struct decoder *d, const struct type *t, size_t n,
			const struct step *step)
{
	if (!t->min && !t->max)
		return 0;
	if ((int64_t)n < t->min && t->min == 1)
		return bad(d, step, "must not be empty");
	if (t->min == t->max && (int64_t)n != t->min)
		return bad(d, step, "must be %" PRId64 " bytes long, not %zu", t->min, n);
	if ((int64_t)n < t->min || (int64_t)n > t->max)
		return bad(d, step,
			   "must be %" PRId64 " to %" PRId64 " bytes long, not %zu",
			   t->min, t->max, n);
	return 0;
}

static int decode_text(struct decoder *d, const struct type *t, json_t *v,
		       const char **at, const struct step *step)
{
	const char *s = json_string_value(v);
	size_t n = json_string_length(v);

	/* An id that consists of digits is often written as a number, such as 2 for "002". */
	if (json_is_integer(v) && d->mode != DECODE_EXACT &&
	    (t->pattern || (step->name && strcmp(step->name, "id") == 0))) {
		s = arena_printf(d->arena, "%" JSON_INTEGER_FORMAT,
				 json_integer_value(v));
		n = strlen(s);
		s = type_matches(t, s) ? s : NULL;
	}
	if (!s)
		return bad(d, step, "must be a text");
	if (memchr(s, '\0', n))
		return bad(d, step, "must not contain U+0000");
	if (check_length(d, t, n, step) < 0)
		return d->fault->code;
	if (!type_matches(t, s)) {
		bad(d, step, "'%.60s' is malformed", s);
		return fault_hint(d->fault, "%s", t->doc);
	}
	*at = s;
	return 0;
}

/* --- numbers and choices ---------------------------------------------------------------- */

static int decode_check_range(struct decoder *d, const struct type *t, int64_t n,
			      const struct step *step)
{
	if ((t->min || t->max) && (n < t->min || n > t->max))
		return bad(d, step, "must be %" PRId64 " to %" PRId64 ", not %" PRId64,
			   t->min, t->max, n);
	return 0;
}

static int decode_int(struct decoder *d, const struct type *t, json_t *v, int64_t *at,
		      const struct step *step)
{
	const double exact = 9007199254740991.0; /* 2^53 - 1 */
	double real = json_real_value(v);

	if (json_is_integer(v))
		*at = json_integer_value(v);
	else if (json_is_real(v) && fabs(real) <= exact && real == floor(real))
		*at = (int64_t)real;
	else
		return t->max ? bad(d, step,
				    "must be a whole number, %" PRId64 " to %" PRId64,
				    t->min, t->max)
			      : bad(d, step, "must be a whole number");
	return decode_check_range(d, t, *at, step);
}

static int decode_time(struct decoder *d, const struct type *t, json_t *v, int64_t *at,
		       const struct step *step)
{
	if (json_is_string(v) && strlen(json_string_value(v)) == json_string_length(v))
		*at = time_parse(json_string_value(v));
	else if (json_is_integer(v) && d->mode != DECODE_EXACT)
		*at = json_integer_value(v);
	else
		*at = -1;
	if (*at < 0 || *at > TIME_MOST)
		return bad(d, step,
			   "must be a time such as "
			   "2026-11-21T08:00:00Z");
	return decode_check_range(d, t, *at, step);
}

/* Writes the names of choices to `list`, until `list` is full. */
static void list_choices(const struct type *t, char *list, size_t room)
{
	size_t n = 0;

	*list = '\0';
	for (const struct choice *c = t->choices; c->name && n < room; c++)
		n += (size_t)snprintf(list + n, room - n, "%s%s", n ? ", " : "", c->name);
}

static int decode_enum(struct decoder *d, const struct type *t, json_t *v, int64_t *at,
		       const struct step *step)
{
	const char *s = json_string_value(v);
	char list[180];

	for (const struct choice *c = t->choices; s && c->name; c++)
		if (strcmp(c->name, s) == 0) {
			*at = c - t->choices;
			return 0;
		}
	list_choices(t, list, sizeof(list));
	if (!s)
		return bad(d, step, "must be one of %s", list);
	bad(d, step, "'%.40s' is none of %s", s, list);
	return field_instead(d->in, s)
		       ? fault_hint(d->fault, "%s", field_instead(d->in, s))
		       : d->fault->code;
}

static int decode_bool(struct decoder *d, json_t *v, bool *at, const struct step *step)
{
	if (!json_is_boolean(v))
		return bad(d, step, "must be true or false");
	*at = json_is_true(v);
	return 0;
}

/* --- objects -------------------------------------------------------------------------------- */

/* Whether a dumped JSON text holds the escape \u0000. The text \\u0000, an escaped backslash
 * and the letters u0000, does not count. */
static bool holds_nul(const char *s)
{
	for (; (s = strchr(s, '\\')); s += 2)
		if (strncmp(s + 1, "u0000", 5) == 0)
			return true;
	return false;
}

/* Stores an object as JSON text with sorted keys. The keys are sorted because op_hash() needs
 * equal texts for equal objects. */
static int decode_json(struct decoder *d, const struct type *t, json_t *v,
		       const char **at, const struct step *step)
{
	const size_t flags = JSON_COMPACT | JSON_SORT_KEYS;
	size_t n;
	char *s;

	if (!json_is_object(v))
		return bad(d, step, "must be an object");
	n = json_dumpb(v, NULL, 0, flags);
	s = arena_alloc(d->arena, n + 1);
	json_dumpb(v, s, n, flags);
	if (!n || holds_nul(s))
		return bad(d, step, n ? "must not contain U+0000" : "nests too deeply");
	if (check_length(d, t, n, step) < 0)
		return d->fault->code;
	*at = s;
	return 0;
}

static int pair_by_key(const void *a, const void *b)
{
	return strcmp(((const struct pair *)a)->key, ((const struct pair *)b)->key);
}

static int decode_map(struct decoder *d, json_t *v, char *base, const struct field *fd,
		      const struct step *step)
{
	size_t n = json_object_size(v), i = 0;
	struct pair *pairs = arena_alloc(d->arena, (n + 1) * sizeof(*pairs));
	const char *key;
	json_t *value;

	if (!json_is_object(v))
		return bad(d, step, "must be an object of texts");
	json_object_foreach(v, key, value) {
		const struct step here = { step, key, 0 };
		const char *s = json_string_value(value);

		if (!s || strlen(s) != json_string_length(value))
			return bad(d, &here,
				   s ? "must not contain U+0000" : "must be a text");
		pairs[i++] = (struct pair){ key, s };
	}
	qsort(pairs, n, sizeof(*pairs), pair_by_key);
	*(struct pair **)(base + fd->at) = pairs;
	*(size_t *)(base + fd->at2) = n;
	return 0;
}

static int decode_record(struct decoder *d, const struct record *r, json_t *src,
			 char *dst, const struct step *up);

static int decode_value(struct decoder *d, const struct type *t, json_t *v, void *at,
			const struct step *step)
{
	switch (t->kind) {
	case KIND_TEXT:
		return decode_text(d, t, v, at, step);
	case KIND_INT:
		return decode_int(d, t, v, at, step);
	case KIND_TIME:
		return decode_time(d, t, v, at, step);
	case KIND_BOOL:
		return decode_bool(d, v, at, step);
	case KIND_ENUM:
		return decode_enum(d, t, v, at, step);
	case KIND_JSON:
		return decode_json(d, t, v, at, step);
	case KIND_RECORD:
		return decode_record(d, t->record, v, at, step);
	case KIND_MAP: /* decode_field() decodes maps, since a map has a count */
		assert(0);
	}
	return 0;
}

/* --- fields --------------------------------------------------------------------------------- */

/* Splits "a,b" into a list of words, without the blanks around them. Returns NULL if `v` is no
 * text with a comma, or if texts of the type `t` are not split. */
static json_t *split_words(const struct type *t, json_t *v)
{
	const char *s = json_string_value(v);
	json_t *list;

	if (!s || !strchr(s, ',') || *s == '{' || !type_splits(t) ||
	    t->kind == KIND_INT || t->kind == KIND_TIME)
		return NULL;
	list = json_array();
	while (*s) {
		size_t n = strcspn(s, ",");
		size_t before = strspn(s, " "), after = n;

		while (after > before && s[after - 1] == ' ')
			after--;
		if (after > before)
			json_array_append_new(list,
					      json_stringn(s + before, after - before));
		s += n + (s[n] == ',');
	}
	return list;
}

static int decode_items(struct decoder *d, json_t *v, char *base, const struct field *fd,
			const struct step *step);

/* Copies the texts of a list, because the JSON value is freed before the struct. */
static void decode_keep_texts(struct decoder *d, char *base, const struct field *fd)
{
	const struct type *t = fd->type;
	const size_t size = type_size(t), n = *(const size_t *)(base + fd->at2);
	char *item = *(char **)(base + fd->at);

	if (t->kind == KIND_RECORD && item)
		item += record_short(t->record)->at;
	else if (t->kind != KIND_TEXT || !item)
		return;
	for (size_t i = 0; i < n; i++, item += size) {
		const char **text = (const char **)item;

		if (*text)
			*text = arena_strdup(d->arena, *text);
	}
}

/* Decodes a list. A single value, as in `"to":"coder"`, stands for a list with one value. Short
 * words may share one text, as in `"tags":"a,b"`. */
static int decode_list(struct decoder *d, json_t *v, char *base, const struct field *fd,
		       const struct step *step)
{
	json_t *words;
	char *items;
	int rc;

	if (d->mode == DECODE_EXACT && !json_is_array(v))
		return bad(d, step, "must be a list");
	words = split_words(fd->type, v);
	if (words) {
		rc = decode_items(d, words, base, fd, step);
		decode_keep_texts(d, base, fd);
		json_decref(words);
		return rc;
	}
	if (json_is_array(v))
		return decode_items(d, v, base, fd, step);
	items = arena_alloc(d->arena, type_size(fd->type));
	*(char **)(base + fd->at) = items;
	*(size_t *)(base + fd->at2) = 1;
	return decode_value(d, fd->type, v, items, step);
}

static int decode_items(struct decoder *d, json_t *v, char *base, const struct field *fd,
			const struct step *step)
{
	size_t size = type_size(fd->type), n = json_array_size(v);
	char *items;

	if (fd->most && n > (size_t)fd->most)
		return bad(d, step, "must hold at most %" PRId64 " values, not %zu",
			   fd->most, n);
	items = arena_alloc(d->arena, size * n + 1);
	for (size_t i = 0; i < n; i++) {
		const struct step here = { step, NULL, i };

		if (decode_value(d, fd->type, json_array_get(v, i), items + i * size,
				 &here) < 0)
			return d->fault->code;
	}
	*(char **)(base + fd->at) = items;
	*(size_t *)(base + fd->at2) = n;
	return 0;
}

static int decode_field(struct decoder *d, const struct field *fd, json_t *v, char *base,
			const struct step *step)
{
	if (fd->flags & FIELD_LIST)
		return decode_list(d, v, base, fd, step);
	if (fd->type->kind == KIND_MAP)
		return decode_map(d, v, base, fd, step);
	if ((fd->flags & FIELD_OPTIONAL) && fd->at2)
		*(bool *)(base + fd->at2) = true;
	return decode_value(d, fd->type, v, base + fd->at, step);
}

/* Sets a field to its default. The default of a list or map is empty, but not absent, so the
 * pointer of the list or map is not NULL. */
static void set_default(struct decoder *d, const struct field *fd, char *base)
{
	char *at = base + fd->at;

	if ((fd->flags & FIELD_LIST) || fd->type->kind == KIND_MAP)
		*(void **)at = arena_alloc(d->arena, 1);
	else if (fd->type->kind == KIND_TEXT || fd->type->kind == KIND_JSON)
		*(const char **)at = fd->def_text;
	else if (fd->type->kind == KIND_BOOL)
		*(bool *)at = fd->def_int;
	else
		*(int64_t *)at = fd->def_int;
}

static int decode_absent(struct decoder *d, const struct field *fd, char *base,
			 const struct step *up)
{
	const struct step here = { up, fd->name, 0 };

	if (fd->flags & FIELD_DEFAULT)
		set_default(d, fd, base);
	else if (!(fd->flags & FIELD_OPTIONAL))
		return bad(d, &here, "is required");
	return 0;
}

int field_unknown(const struct record *r, const char *name, const char *where,
		  struct fault *f)
{
	const struct field *near = field_nearest(r, name);
	char list[180] = "";
	size_t n = 0;

	fault_set(f, FAULT_INVALID, where, "'%.60s' is not known here", name);
	if (field_instead(r, name))
		return fault_hint(f, "%s", field_instead(r, name));
	if (near)
		return fault_hint(f, "Did you mean '%s'?", near->name);
	for (size_t i = 0; i < r->n_fields && n < sizeof(list); i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "",
				      r->fields[i].name);
	return fault_hint(f, "Known names: %s", r->n_fields ? list : "none");
}

static int unknown_field(struct decoder *d, const struct record *r, const char *key,
			 const struct step *step)
{
	char where[128] = "";

	put_step(step, where, sizeof(d->fault->where));
	return field_unknown(r, key, where, d->fault);
}

/* Decodes a text that stands for a record. The text is the value of the record's only required
 * field. */
static int decode_short(struct decoder *d, const struct record *r, json_t *text,
			char *dst, const struct step *up)
{
	json_t *whole = json_pack("{s:O}", record_short(r)->name, text);
	int rc = decode_record(d, r, whole, dst, up);

	json_decref(whole); /* frees the object; the text has another owner */
	return rc;
}

/* Decodes a record in one pass over the members of the JSON object. `seen` has a bit for each
 * field that was found. The bits show whether a field is given twice, by its name and by an
 * alias. */
static int decode_record(struct decoder *d, const struct record *r, json_t *src,
			 char *dst, const struct step *up)
{
	uint64_t seen = 0;
	const char *key;
	json_t *v;

	static_assert(FIELD_MAX <= 64, "a bit for each field");
	if (json_is_string(src) && d->mode != DECODE_EXACT && record_short(r))
		return decode_short(d, r, src, dst, up);
	if (!json_is_object(src))
		return bad(d, up, "must be an object");
	json_object_foreach(src, key, v) {
		const struct field *fd = field_given(r, key, src);
		const struct step here = { up, key, 0 };
		uint64_t bit = fd ? UINT64_C(1) << (fd - r->fields) : 0;

		if (!fd && d->mode != DECODE_LENIENT)
			return unknown_field(d, r, key, &here);
		if (!fd || (json_is_null(v) && d->mode != DECODE_EXACT))
			continue;
		if (seen & bit)
			return bad(d, &here, "'%s' is given twice", fd->name);
		seen |= bit;
		if (decode_field(d, fd, v, dst, &here) < 0)
			return d->fault->code;
	}
	for (size_t i = 0; i < r->n_fields; i++)
		if (!(seen >> i & 1) && decode_absent(d, &r->fields[i], dst, up) < 0)
			return d->fault->code;
	return 0;
}

int op_decode(const struct record *r, json_t *src, void *dst, enum decode_mode mode,
	      struct arena *arena, struct fault *fault)
{
	struct decoder d = { mode, arena, fault, r };

	return decode_record(&d, r, src, dst, NULL);
}
