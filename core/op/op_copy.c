#include "core/op/op.h"

#include <string.h>

static bool op_copy_is_counted(const struct field *fd)
{
	return fd->flags & FIELD_LIST || fd->type->kind == KIND_MAP;
}

/* A text says by itself whether it is there. */
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
