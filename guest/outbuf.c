#include "guest/outbuf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/wire/wire.h"
#include "guest/guest_target.h"

enum { IN_MEMORY = 64 << 10 };

static const char marker[] = "\n[cadre: what came after 2 MiB was dropped]\n";
static const char unknown[] = "\xef\xbf\xbd"; /* U+FFFD */

void outbuf_init(struct outbuf *o, const char *folder)
{
	*o = (struct outbuf){ .folder = folder };
}

void outbuf_release(struct outbuf *o)
{
	free(o->data);
	if (o->fd)
		close(o->fd);
	*o = (struct outbuf){ .folder = o->folder };
}

/* --- keeping ------------------------------------------------------------------ */

/* Moves the output to a file; if none can be made, it stays in memory. */
static void move_to_file(struct outbuf *o)
{
	int fd = open(o->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return;
	if (!file_write_all(fd, o->data, o->len)) {
		close(fd);
		return;
	}
	free(o->data);
	o->data = NULL;
	o->room = 0;
	o->fd = fd;
}

static bool outbuf_make_room(struct outbuf *o, size_t need)
{
	size_t room = o->room ? o->room : 1024;
	char *data;

	if (need <= o->room)
		return true;
	while (room < need)
		room *= 2;
	data = realloc(o->data, room);
	if (!data)
		return false;
	o->data = data;
	o->room = room;
	return true;
}

static void outbuf_keep(struct outbuf *o, const char *data, size_t len)
{
	if (!o->fd && o->len + len > IN_MEMORY && o->room < 2 * IN_MEMORY)
		move_to_file(o);
	if (o->fd) {
		if (!file_write_all(o->fd, data, len)) {
			/* Half a character may be there: not counted. */
			lseek(o->fd, (off_t)o->len, SEEK_SET);
			o->cut = true;
			return;
		}
	} else if (!outbuf_make_room(o, o->len + len)) {
		o->cut = true;
		return;
	} else {
		memcpy(o->data + o->len, data, len);
	}
	o->len += len;
}

static size_t most(const struct outbuf *o)
{
	/* Output that is not in a file is in memory. */
	return o->most && (o->fd || o->len <= IN_MEMORY) ? o->most : OUTBUF_MAX;
}

static void outbuf_cut(struct outbuf *o)
{
	o->cut = true;
	outbuf_keep(o, marker, sizeof(marker) - 1);
}

/* Keeps a whole character: the output may be cut between any two calls. */
static void keep_character(struct outbuf *o, const char *data, size_t len)
{
	o->all += len;
	if (o->cut)
		return;
	if (o->len + len > most(o))
		outbuf_cut(o);
	else
		outbuf_keep(o, data, len);
}

static void keep_plain(struct outbuf *o, const char *data, size_t len)
{
	size_t room = most(o) - o->len;

	o->all += len;
	if (o->cut)
		return;
	outbuf_keep(o, data, len < room ? len : room);
	if (len > room && !o->cut)
		outbuf_cut(o);
}

/* --- characters ------------------------------------------------------------------ */

/* Bounds of the second byte of a sequence, and its length; 0: no such start. */
static size_t sequence(unsigned char first, unsigned char *lo, unsigned char *hi)
{
	*lo = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
	*hi = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
	if (first >= 0xc2 && first <= 0xdf)
		return 2;
	if (first >= 0xe0 && first <= 0xef)
		return 3;
	return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

static bool outbuf_continues(const struct outbuf *o, unsigned char c)
{
	unsigned char lo, hi;

	sequence(o->part[0], &lo, &hi);
	return o->n_part == 1 ? c >= lo && c <= hi : (c & 0xc0) == 0x80;
}

static void add_byte(struct outbuf *o, unsigned char c)
{
	unsigned char lo, hi;

	if (o->n_part && !outbuf_continues(o, c))
		outbuf_end(o);
	if (!o->n_part && c && c < 0x80) {
		keep_character(o, (const char *)&c, 1);
		return;
	}
	o->part[o->n_part++] = c;
	if (sequence(o->part[0], &lo, &hi) == 0) {
		outbuf_end(o);
	} else if (o->n_part == sequence(o->part[0], &lo, &hi)) {
		keep_character(o, (const char *)o->part, o->n_part);
		o->n_part = 0;
	}
}

void outbuf_end(struct outbuf *o)
{
	if (o->n_part) {
		keep_character(o, unknown, sizeof(unknown) - 1);
		o->replaced = true;
	}
	o->n_part = 0;
}

static size_t plain_run(const char *data, size_t len)
{
	size_t n = 0;

	while (n < len && data[n] > 0)
		n++;
	return n;
}

void outbuf_add(struct outbuf *o, const char *data, size_t len)
{
	while (len > 0) {
		size_t n = o->n_part ? 0 : plain_run(data, len);

		if (n > 0)
			keep_plain(o, data, n);
		else
			add_byte(o, (unsigned char)data[n++]);
		data += n;
		len -= n;
	}
}

void outbuf_seen(struct outbuf *o, size_t offset)
{
	if (o->fd && offset <= o->len)
		(void)!fallocate(o->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
				 (off_t)offset);
}

/* --- reading ---------------------------------------------------------------------- */

const char *outbuf_read(const struct outbuf *o, size_t offset, size_t len,
			struct arena *a, size_t *got)
{
	char *to;

	if (offset > o->len)
		offset = o->len;
	if (len > o->len - offset)
		len = o->len - offset;
	to = arena_alloc(a, len + 1);
	*got = len;
	if (!o->fd) {
		if (len)
			memcpy(to, o->data + offset, len);
		return to;
	}
	for (size_t at = 0; at < len;) {
		ssize_t n = pread(o->fd, to + at, len - at, (off_t)(offset + at));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return NULL;
		at += (size_t)n;
	}
	return to;
}

static const char cut_marker[] = "\n[cadre: cut here to fit a frame]\n";

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
	p->text[i] = marked ? arena_printf(a, "%.*s%s", (int)len, p->text[i], cut_marker)
			    : arena_strndup(a, p->text[i], len);
	p->len[i] = len;
}

void output_parts_fit(struct output_parts *p, size_t *room, bool marked, struct arena *a)
{
	size_t reserve = marked ? 4 * sizeof(cut_marker) : 0;
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
