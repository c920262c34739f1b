#include "guest/output_parts.h"

#include <string.h>

#include "core/wire/wire.h"

static const char marker[] = "\n[cadre: cut here to fit a frame]\n";

bool output_parts_read(struct output_parts *p, const struct outbuf *out,
		       const struct outbuf *err, struct arena *a)
{
	const struct outbuf *streams[] = { out, err };

	for (int i = 0; i < 2; i++) {
		p->size[i] = streams[i]->len;
		p->written[i] = streams[i]->cut ? streams[i]->all : 0;
		p->replaced |= streams[i]->replaced;
		p->text[i] = outbuf_read(streams[i], p->offset[i], OUTBUF_MAX * 2, a,
					 &p->len[i]);
		if (!p->text[i])
			return false;
	}
	return true;
}

void output_parts_take(struct output_parts *p, const char *out, size_t out_size,
		       const char *err, size_t err_size)
{
	const char *texts[] = { out, err };

	p->size[0] = out_size;
	p->size[1] = err_size;
	for (int i = 0; i < 2; i++) {
		size_t at = p->offset[i] < p->size[i] ? p->offset[i] : p->size[i];

		p->text[i] = texts[i] + at;
		p->len[i] = p->size[i] - at;
	}
}

int output_parts_bad_offset(const struct output_parts *p)
{
	for (int i = 0; i < 2; i++)
		if (p->offset[i] > p->size[i] ||
		    (p->len[i] && ((unsigned char)*p->text[i] & 0xc0) == 0x80))
			return i;
	return -1;
}

static void output_parts_cut(struct output_parts *p, int i, size_t len, bool marked,
			     struct arena *a)
{
	if (len == p->len[i])
		return;
	p->more = true;
	p->text[i] = marked ? arena_printf(a, "%.*s%s", (int)len, p->text[i], marker)
			    : arena_strndup(a, p->text[i], len);
	p->len[i] = len;
}

void output_parts_fit(struct output_parts *p, size_t *room, bool marked, struct arena *a)
{
	size_t reserve = marked ? 4 * sizeof(marker) : 0;
	size_t left = *room > reserve ? *room - reserve : 0;
	size_t half = left / 2, first = half, out, err;

	text_json_fit(p->text[0], p->len[0], &first);
	left -= half - first; /* what stdout surely gets */
	err = text_json_fit(p->text[1], p->len[1], &left);
	left += half - first;
	out = text_json_fit(p->text[0], p->len[0], &left);
	output_parts_cut(p, 0, out, marked, a);
	output_parts_cut(p, 1, err, marked, a);
	*room = left;
}
