#include "core/call/space.h"

#include <string.h>

size_t space_all(const struct call *call)
{
	size_t most = call->form.most;

	return most && most < ROOM_ITEMS ? most - ROOM_FIELDS : ROOM_ITEMS;
}

void space_open(struct call *call)
{
	call->space = space_all(call);
}

bool space_is_whole(const struct call *call)
{
	return call->space == space_all(call);
}

bool space_take_bytes(struct call *call, size_t size)
{
	size++; /* the comma after the value */
	if (size > call->space)
		return false;
	call->space -= size;
	return true;
}

size_t text_json_size(const char *s)
{
	struct text t = { .counts = true };

	text_add_json(&t, s);
	return t.len;
}

size_t space_size(const struct call *call, const struct record *r, const void *item)
{
	return call->form.brief ? op_size_brief(call->op, r, item) : op_size(r, item);
}

bool space_take(struct call *call, const struct record *r, const void *item)
{
	return space_take_bytes(call, space_size(call, r, item));
}

bool space_add(struct call *call, const struct record *r, const void *item, void *list,
	       size_t *n, int64_t limit, bool *more)
{
	bool fits = (int64_t)*n < limit && space_take(call, r, item);

	if (fits)
		memcpy(arena_push(&call->arena, list, n, r->size), item, r->size);
	*more |= !fits;
	return fits;
}

bool space_take_text(struct call *call, const char *text)
{
	return space_take_bytes(call, text_json_size(text));
}

size_t space_fit(const char *s, size_t len, size_t room)
{
	return text_json_fit(s, len, &room);
}

const char *space_cut(struct call *call, const char *text, size_t most, int64_t *size)
{
	size_t len = text ? strlen(text) : 0, n = space_fit(text ? text : "", len, most);

	*size = n < len ? (int64_t)len : 0;
	return n < len ? arena_strndup(&call->arena, text, n) : text;
}

const char *space_text(struct call *call, const char *text, size_t most, int64_t *size)
{
	text = space_cut(call, text, most < call->space ? most : call->space, size);
	call->space -= text ? text_json_size(text) - 2 : 0;
	return text;
}

void space_range(struct call *call, const char *whole, struct space_range *r)
{
	size_t len = whole ? strlen(whole) : 0, at = len, n;

	if (r->offset < (int64_t)len)
		at = (size_t)r->offset;
	if (at < len)
		at = text_start(
			whole,
			at); /* an offset inside a character is moved to the first byte */
	n = len - at;
	if ((int64_t)n > r->length)
		n = (size_t)r->length;
	if (at + n < len)
		n = text_start(whole + at, n);
	/* A part before the end of the text is never empty. Otherwise a caller who reads part
	 * by part would never reach the end. */
	if (n == 0 && at < len)
		n = text_wide(whole + at) ? text_wide(whole + at) : 1;
	n = space_fit(whole ? whole + at : "", n, call->space);
	r->text = arena_strndup(&call->arena, whole ? whole + at : "", n);
	call->space -= text_json_size(r->text) - 2;
	r->size = (int64_t)len;
	r->next = (int64_t)(at + n);
}

static size_t answer_size(const struct call *call)
{
	struct text t = { .counts = true };

	if (call->form.brief)
		op_encode_brief(call->op, call->out, &t);
	else
		op_encode(call->op->out, call->out, &t);
	return t.len;
}

int space_check(struct call *call)
{
	size_t most = call->form.most ? call->form.most : ROOM_ANSWER, size;

	if (call->op->who == WHO_HOST)
		return 0; /* answers to the host's own operations are never sent */
	if (op_size_most(call->op->out, call->out) <= most)
		return 0;
	size = answer_size(call);
	if (size <= most)
		return 0;
	fault_set(&call->fault, FAULT_INVALID, "",
		  "the answer would take %zu bytes; the limit is %zu", size, most);
	return fault_hint(&call->fault, "Nothing was changed. Ask for less in one call.");
}
