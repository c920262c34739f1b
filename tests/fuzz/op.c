/*
 * op - any JSON, and any words, as the arguments of every operation.
 *
 * The first byte picks the operation. The second byte says whether the remaining bytes are JSON
 * text, a recipe for an object, or the words of a command. The recipe uses mostly fields of the
 * operation's record. A decoded call is written and decoded again, and must not change.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/call/call.h"
#include "ops.gen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { DEPTH_MOST = 6, WORDS_MOST = 24 };

struct bytes {
	const uint8_t *data;
	size_t left;
};

static unsigned next(struct bytes *b)
{
	if (!b->left)
		return 0;
	b->left--;
	return *b->data++;
}

/* --- growing a JSON value from bytes --------------------------------------------- */

static json_t *grow_text(struct bytes *b)
{
	size_t n = next(b);
	json_t *text;

	if (n == 255)
		n = next(b) * 300; /* a size that can exceed limits */
	if (n > b->left)
		n = b->left;
	text = json_stringn((const char *)b->data, n);
	b->data += n;
	b->left -= n;
	return text ? text : json_string("no utf-8");
}

static json_t *grow_int(struct bytes *b)
{
	uint64_t n = 0;

	for (unsigned i = next(b) % 9; i > 0; i--)
		n = n << 8 | next(b);
	return json_integer((int64_t)n);
}

static json_t *grow_time(struct bytes *b)
{
	char text[25];

	time_format((int64_t)next(b) << next(b) % 40, text);
	return json_string(text);
}

static json_t *grow(struct bytes *b, const struct record *r, int depth);

/* Makes a value that the field's type accepts. Wrong values are made by grow_astray(). */
static json_t *grow_fitting(struct bytes *b, const struct type *t, int depth)
{
	size_t n = 0;

	switch (t->kind) {
	case KIND_INT:
		return grow_int(b);
	case KIND_BOOL:
		return json_boolean(next(b) & 1);
	case KIND_TIME:
		return grow_time(b);
	case KIND_ENUM:
		while (t->choices[n].name)
			n++;
		return json_string(t->choices[next(b) % n].name);
	case KIND_RECORD:
		return grow(b, t->record, depth + 1);
	case KIND_TEXT:
		return grow_text(b);
	case KIND_JSON:
	case KIND_MAP:
		break;
	}
	return grow(b, NULL, depth + 1);
}

static json_t *grow_astray(struct bytes *b, const struct record *r, int depth)
{
	json_t *list;

	switch (next(b) % 8) {
	case 0:
		return json_null();
	case 1:
		return json_real((double)(int)next(b) / 4 * (next(b) & 1 ? 1e18 : 1));
	case 2:
		return grow_int(b);
	case 3:
		list = json_array();
		for (unsigned i = next(b) % 5; i > 0 && depth < DEPTH_MOST; i--)
			json_array_append_new(list, grow_astray(b, r, depth + 1));
		return list;
	case 4:
		return grow(b, r, depth + 1);
	case 5:
		return json_boolean(next(b) & 1);
	default:
		return grow_text(b);
	}
}

static json_t *grow_field(struct bytes *b, const struct field *fd, const struct record *r,
			  int depth)
{
	unsigned how = next(b);
	json_t *list;

	if (how % 8 == 7)
		return grow_astray(b, r, depth);
	if (!(fd->flags & FIELD_LIST) || how % 8 == 6)
		return grow_fitting(b, fd->type, depth);
	list = json_array();
	for (unsigned i = how / 8 % 4; i > 0; i--)
		json_array_append_new(list, grow_fitting(b, fd->type, depth));
	return list;
}

/* Makes an object with fields of the record, or with any names if there is no record. */
static json_t *grow(struct bytes *b, const struct record *r, int depth)
{
	json_t *object = json_object(), *name;

	for (unsigned n = next(b) % 24; n > 0 && b->left && depth < DEPTH_MOST; n--) {
		unsigned which = next(b);
		const struct field *fd = r && r->n_fields && which < 240
						 ? &r->fields[which % r->n_fields]
						 : NULL;

		if (fd) {
			json_object_set_new(object,
					    fd->aliases && which & 1 ? fd->aliases[0]
								     : fd->name,
					    grow_field(b, fd, r, depth));
			continue;
		}
		name = grow_text(b);
		json_object_set_new(object, json_string_value(name),
				    grow_astray(b, r, depth));
		json_decref(name);
	}
	return object;
}

/* --- checks ------------------------------------------------------------------------ */

static void is_told(const struct fault *f, int rc)
{
	assert(rc == f->code && f->code == FAULT_INVALID && *f->text);
	assert(strlen(f->where) < sizeof(f->where) && strlen(f->hint) < sizeof(f->hint));
}

/* Checks that a decoded record does not change if it is written and decoded again. */
static void comes_back(const struct record *r, const void *in, struct arena *a)
{
	void *again = arena_alloc(a, r->size + 1);
	struct text text = { 0 };
	struct fault f = { 0 };
	json_t *json;

	op_encode(r, in, &text);
	json = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, NULL);
	assert(json);
	if (op_decode(r, json, again, DECODE_STRICT, a, &f))
		abort();
	if (op_hash(r, in, NULL) != op_hash(r, again, NULL)) {
		fprintf(stderr, "%s: %s\n", r->name, text.data);
		abort();
	}
	json_decref(json);
	text_release(&text);
}

static void try_record(const struct record *r, json_t *json, enum decode_mode mode)
{
	struct arena a = { 0 };
	struct fault f = { 0 };
	void *in = arena_alloc(&a, r->size + 1);
	int rc = op_decode(r, json, in, mode, &a, &f);

	if (rc)
		is_told(&f, rc);
	else
		comes_back(r, in, &a);
	arena_release(&a);
}

static void try_call(const struct op *op, json_t *json)
{
	struct settings settings = { 0 };
	struct call call = { .settings = &settings };
	int rc = call_decode(&call, op, json);

	if (rc)
		is_told(&call.fault, rc);
	assert(!rc || !call.has_key);
	arena_release(&call.arena);
}

static void try_json(const struct op *op, json_t *json)
{
	if (!json)
		return;
	try_record(op->in, json, DECODE_STRICT);
	try_record(op->in, json, DECODE_LENIENT);
	try_record(op->out, json, DECODE_STRICT);
	try_call(op, json);
	json_decref(json);
}

/* Reads the remaining bytes as words of a command. Each newline ends a word, and NUL ends the
 * last word. */
static void try_words(const struct op *op, const struct bytes *b)
{
	char *copy = strndup((const char *)b->data, b->left), *rest = copy;
	char *words[WORDS_MOST + 1] = { 0 };
	struct fault f = { 0 };
	int n = 0, taken;
	json_t *args;

	while (n < WORDS_MOST && (words[n] = strsep(&rest, "\n")))
		n++;
	words[n] = NULL;
	op_command(n, words, &taken);
	args = op_args(op, n, words, &f);
	assert(args || (f.code && *f.text));
	try_json(op, args);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = { data, size };
	const struct op *op = &op_table[next(&b) % op_count];
	json_t *json;

	switch (next(&b) % 4) {
	case 0:
		json = json_loadb((const char *)b.data, b.left,
				  JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
		try_json(op, json);
		break;
	case 1:
		try_words(op, &b);
		break;
	default:
		try_json(op, grow(&b, op->in, 0));
	}
	return 0;
}
