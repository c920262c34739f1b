/*
 * vault_text - what becomes of a note's bytes.  Nothing here does I/O.
 */
#ifndef CORE_VAULT_VAULT_TEXT_H
#define CORE_VAULT_VAULT_TEXT_H

#include "core/op/op.h"

enum note_mode { NOTE_OVERWRITE, NOTE_APPEND, NOTE_PREPEND };

/* Bytes of the frontmatter with its two fences, if the text begins with one. */
size_t note_front(const char *data, size_t len);

/* Appends what `old` becomes with `add` to `out`: replaced, or `add` behind or
 * before it on lines of its own; before it means behind its frontmatter
 * (`front` bytes). */
void note_compose(enum note_mode mode, const struct text *old, size_t front,
		  const char *add, struct text *out);

/* How many of the bytes are whole characters whose JSON takes at most `room`. */
size_t note_fit(const char *data, size_t len, size_t room);

/* A copy that is a text: U+FFFD stands for U+0000. */
const char *note_text(struct arena *a, const char *data, size_t len);

#endif
