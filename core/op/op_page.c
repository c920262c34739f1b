#include "core/op/op.h"

#include <string.h>

/* Arguments that begin a page, and where in the answer before it they stand: a
 * field of its own, or one of the last item of its list. */
static const struct cursor {
	const char *argument, *own, *last[3];
} cursors[] = {
	{ "after", "next", { "path", "id", "seq" } },
	{ "after_name", NULL, { "name", "to" } },
	{ "after_seq", NULL, { "seq" } },
	{ "before", NULL, { "message_id", "seq" } },
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

/* The last item of the answer's first list. */
static const json_t *last_item(const struct op *op, const json_t *answer)
{
	for (size_t i = 0; i < op->out->n_fields; i++) {
		const json_t *list = json_object_get(answer, op->out->fields[i].name);

		if (op->out->fields[i].flags & FIELD_LIST)
			return json_array_get(list, json_array_size(list) - 1);
	}
	return NULL;
}

/* A numeric argument needs a number, all others a text. */
static bool suits(const struct field *fd, const json_t *value)
{
	return fd->type->kind == KIND_INT ? json_is_integer(value)
					  : json_is_string(value);
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
	for (size_t i = 0; i < 3 && c->last[i]; i++) {
		value = json_object_get(last, c->last[i]);
		if (value && suits(fd, value))
			return value;
	}
	/* A page of a directory goes on behind the name of its last entry. */
	value = json_object_get(last, "name");
	return value && suits(fd, value) ? value : NULL;
}
