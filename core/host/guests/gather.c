#include "core/host/guests/gather.h"

#include <string.h>

#include "ops.gen.h"

/* Bytes around the texts of an entry: the names of its fields, and two numbers. */
enum { ENTRY_COST = 120 };

struct piece {
	struct piece *next;
	size_t len;
	char text[];
};

/* --- streams ------------------------------------------------------------------------ */

/* The longest beginning of at most `most` bytes that ends behind a character. */
static size_t whole_characters(const char *s, size_t len, size_t most)
{
	if (len <= most)
		return len;
	while (most > 0 && ((unsigned char)s[most] & 0xc0) == 0x80)
		most--;
	return most;
}

bool output_take(struct output *s, const char *part, int64_t size, int64_t most,
		 struct arena *a)
{
	size_t len = strlen(part), room = s->full ? 0 : (size_t)most - s->len;
	size_t n = whole_characters(part, len, room);
	struct piece *p;

	if (n < len) {
		s->full = true;
		if (s->size < (int64_t)(s->len + len))
			s->size = (int64_t)(s->len + len);
	}
	if (n > 0) {
		p = arena_alloc(a, sizeof(*p) + n);
		memcpy(p->text, part, p->len = n);
		if (!s->first)
			s->end = &s->first;
		*s->end = p;
		s->end = &p->next;
		s->len += n;
	}
	if (s->size < size)
		s->size = size;
	if (s->size < (int64_t)s->len)
		s->size = (int64_t)s->len;
	return n > 0;
}

bool output_wants(const struct output *s, bool more)
{
	return more && !s->full;
}

int64_t output_offset(const struct output *s)
{
	return s->full ? s->size : (int64_t)s->len;
}

static char *gather_join(const struct output *s, struct arena *a)
{
	char *text = arena_alloc(a, s->len + 1), *at = text;

	for (const struct piece *p = s->first; p; p = p->next) {
		memcpy(at, p->text, p->len);
		at += p->len;
	}
	return text;
}

void outputs_join(const struct output s[2], const char *text[2], size_t len[2],
		  struct arena *a)
{
	char *joined[2] = { gather_join(&s[0], a), gather_join(&s[1], a) };
	size_t half = ANSWER_ROOM / 2, left = half;

	/* Room that the first stream leaves of its half goes to the second, and the
	 * other way round. */
	text_json_fit(joined[0], s[0].len, &left);
	left += half;
	len[1] = text_json_fit(joined[1], s[1].len, &left);
	half = ANSWER_ROOM / 2;
	text_json_fit(joined[0], s[0].len, &half);
	left += ANSWER_ROOM / 2 - half;
	len[0] = text_json_fit(joined[0], s[0].len, &left);
	for (int i = 0; i < 2; i++) {
		joined[i][len[i]] = '\0';
		text[i] = joined[i];
	}
}

/* --- directories ---------------------------------------------------------------------- */

static bool gather_fits(const char *s, size_t *room)
{
	size_t len = strlen(s);

	return text_json_fit(s, len, room) == len;
}

static bool entry_fits(const struct dir_entry *e, size_t *room)
{
	if (*room < ENTRY_COST)
		return false;
	*room -= ENTRY_COST;
	return gather_fits(e->name, room) && gather_fits(e->kind, room) &&
	       gather_fits(e->permissions, room);
}

bool listing_is_entry(const struct dir_entry *e)
{
	static const char *const kinds[] = { "file", "dir", "symlink" };
	bool known = false;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		known |= strcmp(e->kind, kinds[i]) == 0;
	return known && e->size >= 0 && *e->name && !strchr(e->name, '/') &&
	       strcmp(e->name, ".") != 0 && strcmp(e->name, "..") != 0;
}

bool listing_take(struct workspace_list_dir_out *out, const struct wire_dir_listing *part,
		  size_t *room, struct arena *a)
{
	for (size_t i = 0; i < part->n_entries; i++) {
		const struct dir_entry *from = &part->entries[i];
		struct dir_entry *e;

		if (!entry_fits(from, room))
			return false;
		e = arena_push(a, &out->entries, &out->n_entries, sizeof(*e));
		*e = *from;
		e->name = arena_strdup(a, from->name);
		e->kind = arena_strdup(a, from->kind);
		e->permissions = arena_strdup(a, from->permissions);
	}
	return true;
}
