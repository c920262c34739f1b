/*
 * vault_text - composing and cutting the text of notes.  Nothing here does I/O.
 */
#ifndef CORE_VAULT_VAULT_TEXT_H
#define CORE_VAULT_VAULT_TEXT_H

#include "core/op/op.h"

enum note_mode { NOTE_OVERWRITE, NOTE_APPEND, NOTE_PREPEND };

/* Bytes of the frontmatter with its two fences, if the text begins with one. */
size_t vault_note_front(const char *data, size_t len);

/* Appends the text that `old` becomes with `add`: `add` in its place, or on lines of its
 * own behind `old`, or before it but behind its frontmatter (`front` bytes). */
void vault_note_compose(enum note_mode mode, const struct text *old, size_t front,
			const char *add, struct text *out);

/* How many of the bytes are whole characters whose JSON takes at most `room`. */
size_t vault_note_fit(const char *data, size_t len, size_t room);

/* A copy in the arena with U+FFFD for every U+0000, so that it is a text. */
const char *vault_note_text(struct arena *a, const char *data, size_t len);

#endif
