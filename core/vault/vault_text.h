/*
 * vault_text - composing and cutting the text of notes.  Nothing here does I/O.
 */
#ifndef CORE_VAULT_VAULT_TEXT_H
#define CORE_VAULT_VAULT_TEXT_H

#include "core/op/op.h"

enum note_mode { NOTE_OVERWRITE, NOTE_APPEND, NOTE_PREPEND };

/* Bytes of the frontmatter with its two fences, if the text begins with one. */
size_t vault_note_front(const char *data, size_t len);

/* Appends the new text of a note, made of `old` and `add`. By `mode`, `add` replaces `old`,
 * follows `old` on lines of its own, or precedes `old` but follows the frontmatter (`front`
 * bytes). */
void vault_note_compose(enum note_mode mode, const struct text *old, size_t front,
			const char *add, struct text *out);

/* The number of leading bytes that are whole characters and need at most `room` bytes as JSON. */
size_t vault_note_fit(const char *data, size_t len, size_t room);

/* A copy in the arena, as a C string: U+FFFD replaces every U+0000. */
const char *vault_note_text(struct arena *a, const char *data, size_t len);

#endif
