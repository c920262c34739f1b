#include "core/op/op.h"

#include <assert.h>
#include <string.h>

/* --- the parts of a struct -------------------------------------------------------- */

static bool encode_is_counted(const struct field *fd)
{
	return (fd->flags & FIELD_LIST) || fd->type->kind == KIND_MAP;
}

static const void *pointer_at(const char *base, const struct field *fd)
{
	return *(const void *const *)(base + fd->at);
}

static size_t count_at(const char *base, const struct field *fd)
{
	return *(const size_t *)(base + fd->at2);
}

/* Whether a field has no value. This function is called for every field of every answer, so the
 * function is inline. */
static inline bool is_absent(const struct field *fd, const char *base)
{
	if (!(fd->flags & FIELD_OPTIONAL))
		return false;
	if (encode_is_counted(fd) || fd->type->kind == KIND_TEXT ||
	    fd->type->kind == KIND_JSON)
		return !pointer_at(base, fd);
	return !*(const bool *)(base + fd->at2);
}

/* --- encoding ------------------------------------------------------------------------ */

/* The text to which a struct is written, and the form of the text. */
struct writing {
	struct text *out;
	bool brief; /* whether the text has the form of op_encode_brief() */
};

static const uint64_t all_fields = UINT64_MAX;

static void encode_record(const struct writing *w, const struct record *r,
			  const void *src, uint64_t fields, const uint64_t *inner);

static void encode_int(int64_t value, struct text *out)
{
	uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
	char digits[20], *p = digits + sizeof(digits);

	do
		*--p = (char)('0' + rest % 10);
	while (rest /= 10);
	if (value < 0)
		*--p = '-';
	text_add(out, p, (size_t)(digits + sizeof(digits) - p));
}

static void encode_time(const struct writing *w, int64_t ms)
{
	size_t n = w->brief ? 20 : 24; /* length of a time, without or with
					  milliseconds */
	char quoted[27] = "\"";

	time_format(ms, quoted + 1);
	quoted[n] = 'Z';
	quoted[n + 1] = '"';
	text_add(w->out, quoted, n + 2);
}

static const char *choice_name(const struct type *t, int64_t position)
{
	const struct choice *c = t->choices;

	assert(position >= 0);
	while (c->name && position--)
		c++;
	assert(c->name);
	return c->name;
}

static void encode_map(const struct pair *pairs, size_t n, struct text *out)
{
	text_add(out, "{", 1);
	for (size_t i = 0; i < n; i++) {
		text_add(out, ",", i > 0);
		text_add_json(out, pairs[i].key);
		text_add(out, ":", 1);
		text_add_json(out, pairs[i].value ? pairs[i].value : "");
	}
	text_add(out, "}", 1);
}

/* Writes a value. If the value is a record, only the fields in the bit set `fields` are
 * written. */
static void encode_value(const struct writing *w, const struct type *t, const void *at,
			 uint64_t fields)
{
	struct text *out = w->out;
	const char *s;

	switch (t->kind) {
	case KIND_TEXT:
		s = *(const char *const *)at;
		text_add_json(out, s ? s : "");
		break;
	case KIND_JSON:
		s = *(const char *const *)at;
		s = s ? s : "{}";
		text_add(out, s, strlen(s));
		break;
	case KIND_INT:
		encode_int(*(const int64_t *)at, out);
		break;
	case KIND_TIME:
		encode_time(w, *(const int64_t *)at);
		break;
	case KIND_ENUM:
		s = choice_name(t, *(const int64_t *)at);
		text_add(out, "\"", 1);
		text_add(out, s, strlen(s));
		text_add(out, "\"", 1);
		break;
	case KIND_BOOL:
		s = *(const bool *)at ? "true" : "false";
		text_add(out, s, strlen(s));
		break;
	case KIND_RECORD:
		encode_record(w, t->record, at, fields, NULL);
		break;
	case KIND_MAP: /* encode_field() writes maps, since a map has a separate count */
		assert(0);
	}
}

static void encode_field(const struct writing *w, const struct field *fd,
			 const char *base, uint64_t fields)
{
	struct text *out = w->out;
	const char *items;
	size_t n;

	if (!encode_is_counted(fd)) {
		encode_value(w, fd->type, base + fd->at, fields);
		return;
	}
	items = pointer_at(base, fd);
	n = items ? count_at(base, fd) : 0;
	if (!(fd->flags & FIELD_LIST)) {
		encode_map((const struct pair *)(const void *)items, n, out);
		return;
	}
	text_add(out, "[", 1);
	for (size_t i = 0; i < n; i++) {
		text_add(out, ",", i > 0);
		encode_value(w, fd->type, items + i * type_size(fd->type), fields);
	}
	text_add(out, "]", 1);
}

/* Whether a value is empty or equal to its field's default, so that a brief answer leaves the
 * value out. */
static bool encode_is_plain(const struct field *fd, const char *base)
{
	const char *s;

	if (encode_is_counted(fd))
		return !pointer_at(base, fd) || !count_at(base, fd);
	switch (fd->type->kind) {
	case KIND_TEXT:
	case KIND_JSON:
		s = pointer_at(base, fd);
		return !s || !*s || strcmp(s, "{}") == 0 ||
		       (fd->def_text && strcmp(s, fd->def_text) == 0);
	case KIND_BOOL:
		return fd->flags & FIELD_DEFAULT &&
		       *(const bool *)(base + fd->at) == fd->def_int;
	case KIND_INT:
	case KIND_ENUM:
		return fd->flags & FIELD_DEFAULT &&
		       *(const int64_t *)(base + fd->at) == fd->def_int;
	case KIND_RECORD:
		for (size_t i = 0; i < fd->type->record->n_fields; i++)
			if (!is_absent(&fd->type->record->fields[i], base + fd->at))
				return false;
		return true;
	case KIND_TIME:
	case KIND_MAP:
		break;
	}
	return false;
}

/* Whether the next field holds the number of the row whose id the field `fd` tells. A brief
 * answer leaves such an id out, since every call takes the number in the place of the id. */
static bool encode_has_number(const struct record *r, const struct field *fd,
			      const char *base)
{
	const struct field *next = fd + 1;

	return next < r->fields + r->n_fields && next->type->given == GIVEN_NUMBER &&
	       !is_absent(next, base);
}

/* Writes a record. If a field is a record, the field's entry in `inner` says which fields of
 * the inner record are written. If `inner` is NULL, all fields of inner records are written. */
static void encode_record(const struct writing *w, const struct record *r,
			  const void *src, uint64_t fields, const uint64_t *inner)
{
	const char *base = src;
	struct text *out = w->out;
	bool first = true;

	text_add(out, "{", 1);
	for (size_t i = 0; i < r->n_fields; i++) {
		const struct field *fd = &r->fields[i];

		if (is_absent(fd, base) || !(fields >> i & 1) ||
		    (w->brief &&
		     (encode_is_plain(fd, base) || encode_has_number(r, fd, base))))
			continue;
		text_add_member(out, fd->name, first);
		encode_field(w, fd, base, inner ? inner[i] : all_fields);
		first = false;
	}
	text_add(out, "}", 1);
}

void op_encode(const struct record *r, const void *src, struct text *out)
{
	encode_record(&(struct writing){ .out = out }, r, src, all_fields, NULL);
}

size_t op_size(const struct record *r, const void *src)
{
	struct text t = { .counts = true };

	op_encode(r, src, &t);
	return t.len;
}

/* Writes the first list of an answer that has nothing else to say, so that the answer does not
 * look like a failure. */
static void encode_nothing(const struct op *op, struct text *out)
{
	const struct field *fd = op->out->fields;

	while (fd < op->out->fields + op->out->n_fields && !(fd->flags & FIELD_LIST))
		fd++;
	if (fd == op->out->fields + op->out->n_fields)
		return;
	out->len--; /* removes the closing brace */
	text_add_member(out, fd->name, true);
	text_add(out, "[]}", 3);
}

void op_encode_brief(const struct op *op, const void *out_struct, struct text *out)
{
	struct writing w = { .out = out, .brief = true };
	size_t before = out->len;

	encode_record(&w, op->out, out_struct, op->brief ? op->brief[0] : all_fields,
		      op->brief ? op->brief + 1 : NULL);
	if (out->len == before + 2)
		encode_nothing(op, out);
}

size_t op_size_brief(const struct op *op, const struct record *r, const void *src)
{
	struct text t = { .counts = true };
	struct writing w = { .out = &t, .brief = true };
	uint64_t fields = all_fields;

	for (size_t i = 0; op->brief && i < op->out->n_fields; i++)
		if (op->out->fields[i].type->record == r)
			fields = op->brief[1 + i];
	encode_record(&w, r, src, fields, NULL);
	return t.len;
}

/* --- at most ----------------------------------------------------------------------------- */

/* Upper bounds of the bytes that a value takes in JSON. NAME_MOST is for a field's name with
 * its quotes, colon and comma, or for the word of an enum value. */
enum {
	NAME_MOST = 64,
	NUMBER_MOST = 32, /* bound for a number, a time or a bool */
	ESCAPED_MOST = 6, /* bound for an escaped byte of a text */
};

static size_t text_most(const char *s)
{
	return 2 + (s ? ESCAPED_MOST * strlen(s) : 0);
}

static size_t value_most(const struct type *t, const void *at)
{
	const char *s;

	switch (t->kind) {
	case KIND_TEXT:
		return text_most(*(const char *const *)at);
	case KIND_JSON:
		s = *(const char *const *)at;
		return s ? strlen(s) : 2;
	case KIND_RECORD:
		return op_size_most(t->record, at);
	case KIND_INT:
	case KIND_TIME:
	case KIND_BOOL:
	case KIND_ENUM:
	case KIND_MAP:
		break;
	}
	return t->kind == KIND_ENUM ? NAME_MOST : NUMBER_MOST;
}

static size_t field_most(const struct field *fd, const char *base)
{
	const char *items;
	size_t n, most = 2;

	if (!encode_is_counted(fd))
		return value_most(fd->type, base + fd->at);
	items = pointer_at(base, fd);
	n = items ? count_at(base, fd) : 0;
	for (size_t i = 0; i < n; i++) {
		const struct pair *pair = (const struct pair *)(const void *)items + i;

		most += 2;
		if (fd->flags & FIELD_LIST)
			most += value_most(fd->type, items + i * type_size(fd->type));
		else
			most += text_most(pair->key) + text_most(pair->value);
	}
	return most;
}

size_t op_size_most(const struct record *r, const void *src)
{
	size_t most = 2;

	for (size_t i = 0; i < r->n_fields; i++)
		if (!is_absent(&r->fields[i], src))
			most += NAME_MOST + field_most(&r->fields[i], src);
	return most;
}

/* --- hashing --------------------------------------------------------------------------- */

/* Mixes a word into a hash, by a multiplication to 128 bits whose halves are combined. Every
 * bit of the word affects every bit of the result, in three cycles a word. */
static uint64_t mix(uint64_t h, uint64_t word)
{
	unsigned __int128 m =
		(unsigned __int128)(h ^ word) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint64_t)m ^ (uint64_t)(m >> 64) ^ UINT64_C(0xd6e8feb86659fd93);
}

static uint64_t mix_bytes(uint64_t h, const char *s, size_t n)
{
	uint64_t word;

	h = mix(h, n);
	for (; n >= sizeof(word); n -= sizeof(word), s += sizeof(word)) {
		memcpy(&word, s, sizeof(word));
		h = mix(h, word);
	}
	word = 0;
	memcpy(&word, s, n);
	return mix(h, word);
}

static uint64_t mix_text(uint64_t h, const char *s)
{
	return s ? mix_bytes(h, s, strlen(s)) : mix(h, UINT64_MAX);
}

static uint64_t hash_record(uint64_t h, const struct record *r, const void *src,
			    const char *except);

static uint64_t hash_value(uint64_t h, const struct type *t, const void *at)
{
	switch (t->kind) {
	case KIND_TEXT:
	case KIND_JSON:
		return mix_text(h, *(const char *const *)at);
	case KIND_INT:
	case KIND_TIME:
	case KIND_ENUM:
		return mix(h, (uint64_t) * (const int64_t *)at);
	case KIND_BOOL:
		return mix(h, *(const bool *)at);
	case KIND_RECORD:
		return hash_record(h, t->record, at, NULL);
	case KIND_MAP: /* hash_field() hashes maps, since a map has a separate count */
		assert(0);
	}
	return h;
}

static uint64_t hash_field(uint64_t h, const struct field *fd, const char *base)
{
	const char *items;
	size_t n;

	if (!encode_is_counted(fd))
		return hash_value(h, fd->type, base + fd->at);
	items = pointer_at(base, fd);
	n = items ? count_at(base, fd) : 0;
	h = mix(h, n);
	for (size_t i = 0; i < n; i++) {
		const struct pair *pair = (const void *)items;

		if (fd->flags & FIELD_LIST)
			h = hash_value(h, fd->type, items + i * type_size(fd->type));
		else
			h = mix_text(mix_text(h, pair[i].key), pair[i].value);
	}
	return h;
}

static uint64_t hash_record(uint64_t h, const struct record *r, const void *src,
			    const char *except)
{
	for (size_t i = 0; i < r->n_fields; i++) {
		const struct field *fd = &r->fields[i];

		if (except && *fd->name == *except && strcmp(fd->name, except) == 0)
			continue;
		h = is_absent(fd, src) ? mix(h, 1) : hash_field(mix(h, 2), fd, src);
	}
	return h;
}

uint64_t op_hash(const struct record *r, const void *src, const char *except)
{
	return hash_record(mix(0, r->n_fields), r, src, except);
}
