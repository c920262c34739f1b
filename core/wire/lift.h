/*
 * lift - finds the bytes of a file in a message, without parsing it.
 *
 * The bytes are a long text without escapes at the message's top level, under `content`
 * or `data`.  A message without such a text is no fault: the message is parsed as it is.
 */
#ifndef CORE_WIRE_LIFT_H
#define CORE_WIRE_LIFT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/op/op.h"

enum { LIFT_LEAST = 32 << 10 };

struct lift {
	const char *key;
	size_t at, len; /* of the text, without its quotes */
};

/* Finds the text of a file in the `size` bytes of a message; false: parse it whole. */
bool lift_find(struct lift *l, const char *body, size_t size);

/* Appends to `rest` the message with an empty text in its place. */
void lift_rest(const struct lift *l, const char *body, size_t size, struct text *rest);

#endif
