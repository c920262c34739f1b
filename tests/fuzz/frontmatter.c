/*
 * frontmatter - changes the frontmatter of a note. The input contains any note, a NUL, and any
 * change of the frontmatter. A note that cannot be read or written gives a fault. After a
 * change, the changed key has the new value, and the body of the note has the same bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/vault/vault_front.h"
#include "core/vault/vault_text.h"
#include "tests/lib/notes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fake_notes fake;
static struct settings settings;

static void check_body(const struct text *old, const struct text *new)
{
	size_t body = old->len - vault_note_front(old->data, old->len);
	size_t kept = new->len - vault_note_front(new->data ? new->data : "", new->len);

	if (kept != body || (body && memcmp(old->data + old->len - body,
					    new->data + new->len - body, body) != 0))
		abort();
}

static void check_map(struct call *call, const struct text *new, json_t *front,
		      json_t *changes)
{
	json_t *back = NULL, *value;
	const char *key;

	json_object_foreach(changes, key, value) {
		if (json_is_null(value))
			json_object_del(front, key);
		else
			json_object_set(front, key, value);
	}
	if (front_read(call, new->data ? new->data : "", new->len, &back) ||
	    !json_equal(back, front))
		abort();
	json_decref(back);
}

static void try_change(struct call *call, const struct text *old, json_t *changes)
{
	struct text new = { 0 };
	json_t *front = NULL;
	const char **tags;

	if (front_read(call, old->data, old->len, &front) == 0) {
		front_tags(front, &call->arena, &tags);
		if (front_write(call, old, changes, &new) == 0) {
			check_body(old, &new);
			check_map(call, &new, front, changes);
		} else if (!call->fault.code)
			abort();
	}
	json_decref(front);
	text_release(&new);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *split = memchr(data, 0, size);
	size_t len = split ? (size_t)(split - data) : size;
	json_t *changes = split ? json_loadb((const char *)split + 1, size - len - 1,
					     JSON_REJECT_DUPLICATES, NULL)
				: json_object();
	struct call call = { .settings = &settings };
	struct text old = { 0 };

	notes_point(&fake);
	settings.notes = &fake.notes;
	text_add(&old, "---\n", 4);
	text_add(&old, (const char *)data, len);
	if (json_is_object(changes))
		try_change(&call, &old, changes);
	json_decref(changes);
	text_release(&old);
	arena_release(&call.arena);
	return 0;
}
