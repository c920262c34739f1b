#include "core/op/op.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/near.h"

/* --- looking up ------------------------------------------------------------------- */

static int op_by_name(const void *key, const void *elem)
{
	return strcmp(key, ((const struct op *)elem)->name);
}

const struct op *op_find(const char *name)
{
	return bsearch(name, op_table, op_count, sizeof(op_table[0]), op_by_name);
}

const struct op *op_tool(const char *tool, const char *action)
{
	for (size_t i = 0; i < op_count; i++) {
		const struct op *op = &op_table[i];

		if (!op->tool || strcmp(op->tool, tool) != 0)
			continue;
		if (!op->action == !action &&
		    (!action || strcmp(op->action, action) == 0))
			return op;
	}
	return NULL;
}

static bool has_alias(const struct field *fd, const char *name)
{
	for (const char *const *a = fd->aliases; a && *a; a++)
		if (strcmp(*a, name) == 0)
			return true;
	return false;
}

const struct field *field_find(const struct record *r, const char *name)
{
	/* Each member of each call is looked up here. The first characters are compared first,
	 * since most names differ there. */
	for (size_t i = 0; i < r->n_fields; i++)
		if (*r->fields[i].name == *name && strcmp(r->fields[i].name, name) == 0)
			return &r->fields[i];
	for (size_t i = 0; i < r->n_fields; i++)
		if (r->fields[i].aliases && has_alias(&r->fields[i], name))
			return &r->fields[i];
	return NULL;
}

/* Whether `args` gives the field under another name than `name`. */
static bool is_given_else(const struct field *fd, const char *name, const json_t *args)
{
	if (strcmp(fd->name, name) != 0 && json_object_get(args, fd->name))
		return true;
	for (const char *const *a = fd->aliases; a && *a; a++)
		if (strcmp(*a, name) != 0 && json_object_get(args, *a))
			return true;
	return false;
}

const struct field *field_given(const struct record *r, const char *name,
				const json_t *args)
{
	const struct field *first = field_find(r, name), *fd = first;

	if (!fd || strcmp(fd->name, name) == 0 || !is_given_else(fd, name, args))
		return fd;
	while (++fd < r->fields + r->n_fields)
		if (has_alias(fd, name))
			return fd;
	return first;
}

const char *field_choice(const struct record *r, const char *field, int64_t value)
{
	return field_find(r, field)->type->choices[value].name;
}

const char *field_spelling(const struct field *fd, const json_t *args)
{
	for (const char *const *a = fd->aliases; a && *a; a++)
		if (!json_object_get(args, fd->name) && json_object_get(args, *a))
			return *a;
	return fd->name;
}

static const char key_name[] = "idempotency_key", request_name[] = "request_id";

const char *op_key(const struct op *op)
{
	return op->flags & OP_REQUEST ? request_name : key_name;
}

bool field_is_key(const struct field *fd)
{
	return !strcmp(fd->name, key_name) || !strcmp(fd->name, request_name);
}

bool op_waits(const struct op *op, const json_t *args)
{
	return op->wait &&
	       (!op->when ||
		json_is_true(json_object_get(args, field_spelling(op->when, args))));
}

const struct noun *noun_find(const char *name)
{
	for (size_t i = 0; i < noun_count; i++)
		if (strcmp(noun_table[i].name, name) == 0)
			return &noun_table[i];
	return NULL;
}

bool op_has_noun(const struct op *op, const char *noun)
{
	size_t n = strlen(noun);

	return strncmp(op->name, noun, n) == 0 && op->name[n] == '.';
}

const struct topic *op_topic(const struct op *op)
{
	for (size_t i = 0; i < topic_count; i++)
		for (const char *const *noun = topic_table[i].nouns; *noun; noun++)
			if (op_has_noun(op, *noun))
				return &topic_table[i];
	return NULL;
}

size_t topic_rank(const struct topic *t, const struct op *op)
{
	size_t i = 0;

	while (t->first && t->first[i] && strcmp(t->first[i], op->name) != 0)
		i++;
	return i;
}

static int wire_by_name(const void *key, const void *elem)
{
	return strcmp(key, ((const struct wire *)elem)->name);
}

const struct wire *wire_find(const char *name)
{
	return bsearch(name, wire_table, wire_count, sizeof(wire_table[0]), wire_by_name);
}

const struct wire *wire_answer(const struct wire *asked, enum side sender)
{
	if (sender == SIDE_GUEST && asked->guest_answer)
		return asked->guest_answer;
	return asked->answer ? asked->answer : wire_find("Ok");
}

static int event_by_number(const void *key, const void *elem)
{
	return *(const int *)key - ((const struct event_kind *)elem)->number;
}

const struct event_kind *event_kind(int number)
{
	return bsearch(&number, event_table, event_count, sizeof(event_table[0]),
		       event_by_number);
}

size_t type_size(const struct type *t)
{
	switch (t->kind) {
	case KIND_TEXT:
	case KIND_JSON:
		return sizeof(const char *);
	case KIND_BOOL:
		return sizeof(bool);
	case KIND_RECORD:
		return t->record->size;
	case KIND_MAP:
		return sizeof(struct pair *);
	case KIND_INT:
	case KIND_TIME:
	case KIND_ENUM:
		return sizeof(int64_t);
	}
	return 0;
}

/* --- what was meant ------------------------------------------------------------------ */

static size_t field_distance(const struct field *fd, const char *name)
{
	const size_t n = strlen(name);
	size_t best = near_distance(fd->name, name);

	if (n > 2 && !strncmp(fd->name, name, n))
		return 1; /* the beginning of a name */
	for (const char *const *a = fd->aliases; a && *a; a++) {
		size_t d = near_distance(*a, name);

		best = d < best ? d : best;
	}
	return best;
}

const struct field *field_nearest(const struct record *r, const char *name)
{
	/* A name may be wrong in about one letter of three. A name with more wrong letters is
	 * taken for another word. */
	size_t best = (strlen(name) + 2) / 3 + 1;
	const struct field *near = NULL;

	for (size_t i = 0; i < r->n_fields; i++) {
		size_t d = field_distance(&r->fields[i], name);

		if (d < best) {
			best = d;
			near = &r->fields[i];
		}
	}
	return near;
}

const char *field_instead(const struct record *r, const char *name)
{
	const char *const *l = r->lacks;

	while (l && *l && strcmp(*l, name))
		l += 2;
	return l && *l ? l[1] : NULL;
}

static bool op_copy_is_counted(const struct field *fd)
{
	return fd->flags & FIELD_LIST || fd->type->kind == KIND_MAP;
}

/* Whether a field is stored as a pointer. A NULL pointer shows that the field is absent. */
static bool is_pointer(const struct field *fd)
{
	return op_copy_is_counted(fd) || fd->type->kind == KIND_TEXT ||
	       fd->type->kind == KIND_JSON;
}

static bool is_flagged(const struct field *fd)
{
	return fd->flags & FIELD_OPTIONAL && !is_pointer(fd);
}

static const struct field *field_like(const struct record *r, const struct field *fd)
{
	for (size_t i = 0; i < r->n_fields; i++) {
		const struct field *other = &r->fields[i];

		if (strcmp(other->name, fd->name) == 0)
			return other->type->kind == fd->type->kind &&
					       other->type->record == fd->type->record &&
					       (fd->type->kind != KIND_ENUM ||
						other->type == fd->type) &&
					       op_copy_is_counted(other) ==
						       op_copy_is_counted(fd)
				       ? other
				       : NULL;
	}
	return NULL;
}

void record_copy(const struct record *from, const void *src, const struct record *to,
		 void *dst)
{
	for (size_t i = 0; i < to->n_fields; i++) {
		const struct field *b = &to->fields[i], *a = field_like(from, b);
		const char *in = src;
		char *out = dst;

		if (!a || (is_flagged(a) && !*(const bool *)(in + a->at2)) ||
		    (is_pointer(a) && !*(void *const *)(in + a->at)))
			continue;
		memcpy(out + b->at, in + a->at,
		       is_pointer(b) ? sizeof(void *) : type_size(b->type));
		if (op_copy_is_counted(b))
			memcpy(out + b->at2, in + a->at2, sizeof(size_t));
		else if (is_flagged(b))
			*(bool *)(out + b->at2) = true;
	}
}

/* The arguments that say where a page begins. The answer with the previous page contains the
 * value for such an argument. The value of such an argument is a field of the answer, or a
 * field of the last item of the answer's list. A page of a directory begins after the name of
 * the last entry. */
static const struct cursor {
	const char *argument, *own, *last[4];
} cursors[] = {
	{ "after", "next", { "path", "id", "seq", "name" } },
	{ "after_name", NULL, { "name", "to" } },
	{ "after_seq", NULL, { "seq", "name" } },
	{ "before", NULL, { "message_id", "seq", "name" } },
	{ "offset", "next", { NULL } },
};

enum { CURSORS = sizeof(cursors) / sizeof(*cursors) };

static const struct cursor *cursor_of(const struct op *op)
{
	for (size_t i = 0; i < CURSORS; i++)
		if (field_find(op->in, cursors[i].argument))
			return &cursors[i];
	return NULL;
}

const struct field *page_argument(const struct op *op)
{
	const struct cursor *c = cursor_of(op);

	return c ? field_find(op->in, c->argument) : NULL;
}

/* Returns the last item of the answer's first list. */
static const json_t *last_item(const struct op *op, const json_t *answer)
{
	for (size_t i = 0; i < op->out->n_fields; i++) {
		const json_t *list = json_object_get(answer, op->out->fields[i].name);

		if (op->out->fields[i].flags & FIELD_LIST)
			return json_array_get(list, json_array_size(list) - 1);
	}
	return NULL;
}

/* Whether a value may begin a page. A numeric argument needs a number. Any other argument needs
 * a text, or the number of a message in the place of its id. */
static bool suits(const struct field *fd, const json_t *value)
{
	return json_is_integer(value) ||
	       (fd->type->kind != KIND_INT && json_is_string(value));
}

const json_t *page_next(const struct op *op, const json_t *answer)
{
	const struct cursor *c = cursor_of(op);
	const struct field *fd = page_argument(op);
	const json_t *last, *value;

	if (!c || !json_is_true(json_object_get(answer, "more")))
		return NULL;
	value = c->own ? json_object_get(answer, c->own) : NULL;
	if (value && suits(fd, value))
		return value;
	last = last_item(op, answer);
	for (size_t i = 0; i < 4 && c->last[i]; i++) {
		value = json_object_get(last, c->last[i]);
		if (value && suits(fd, value))
			return value;
	}
	return NULL;
}
