#include "core/wire/frame.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	FIRST_ROOM = 4096,
	KEEP_ROOM = 64 << 10, /* maximum number of bytes that an idle reader keeps
				 allocated */
};

static size_t head_size(const unsigned char h[FRAME_HEAD])
{
	return (size_t)h[0] << 24 | (size_t)h[1] << 16 | (size_t)h[2] << 8 | h[3];
}

static void frame_start_anew(struct frame_reader *r)
{
	r->n_head = r->size = r->len = 0;
	r->whole = false;
	if (r->room > KEEP_ROOM) {
		free(r->body);
		r->body = NULL;
		r->room = 0;
	}
}

static size_t take_head(struct frame_reader *r, const char *data, size_t len)
{
	size_t n = FRAME_HEAD - r->n_head;

	if (n > len)
		n = len;
	memcpy(r->head + r->n_head, data, n);
	r->n_head += n;
	if (r->n_head == FRAME_HEAD)
		r->size = head_size(r->head);
	return n;
}

/* Makes room for `need` bytes of the body. The room grows with the number of received bytes,
 * whatever length the head announces. */
static int frame_make_room(struct frame_reader *r, size_t need, struct fault *f)
{
	size_t room = r->room ? r->room : FIRST_ROOM;
	char *body;

	if (r->body && need <= r->room)
		return 0;
	while (room < need)
		room *= 2;
	if (room > FRAME_MAX)
		room = FRAME_MAX;
	body = realloc(r->body, room);
	if (!body)
		return fault_set(f, FAULT_UNAVAILABLE, "",
				 "no memory for a frame of %zu bytes", r->size);
	r->body = body;
	r->room = room;
	return 0;
}

static int frame_take_body(struct frame_reader *r, const char *data, size_t len,
			   size_t *used, struct fault *f)
{
	size_t n = r->size - r->len;
	int rc;

	if (n > len)
		n = len;
	rc = frame_make_room(r, r->len + n, f);
	if (rc)
		return rc;
	if (n)
		memcpy(r->body + r->len, data, n);
	r->len += n;
	*used += n;
	r->whole = r->len == r->size;
	return r->whole;
}

int frame_read(struct frame_reader *r, const char *data, size_t len, size_t *used,
	       struct fault *f)
{
	int rc;

	*used = 0;
	if (r->broken)
		return fault_set(f, FAULT_INVALID, "", "the stream is broken");
	if (r->whole)
		frame_start_anew(r);
	if (r->n_head < FRAME_HEAD) {
		*used = take_head(r, data, len);
		if (r->n_head < FRAME_HEAD)
			return 0;
	}
	if (r->size > FRAME_MAX) {
		r->broken = true;
		return fault_set(f, FAULT_INVALID, "", "a frame of %zu bytes; at most %d",
				 r->size, FRAME_MAX);
	}
	rc = frame_take_body(r, data + *used, len - *used, used, f);
	r->broken = rc < 0;
	return rc;
}

char *frame_take(struct frame_reader *r)
{
	char *body = r->body;

	r->body = NULL;
	r->room = 0;
	return body;
}

void frame_release(struct frame_reader *r)
{
	free(r->body);
	*r = (struct frame_reader){ 0 };
}

size_t frame_open(struct text *out)
{
	size_t start = out->len;

	text_add(out, "\0\0\0\0", FRAME_HEAD);
	return start;
}

int frame_close(struct text *out, size_t start, struct fault *f)
{
	size_t size = out->len - start - FRAME_HEAD;
	unsigned char *head = (unsigned char *)out->data + start;

	assert(out->len >= start + FRAME_HEAD);
	if (size > FRAME_MAX) {
		out->len = start;
		out->data[start] = '\0';
		return fault_set(f, FAULT_INVALID, "", "a frame of %zu bytes; at most %d",
				 size, FRAME_MAX);
	}
	head[0] = (unsigned char)(size >> 24);
	head[1] = (unsigned char)(size >> 16);
	head[2] = (unsigned char)(size >> 8);
	head[3] = (unsigned char)size;
	return 0;
}
