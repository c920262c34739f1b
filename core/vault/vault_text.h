/*
 * vault_text - composes and cuts the text of notes. Nothing here does I/O.
 */
#ifndef CORE_VAULT_VAULT_TEXT_H
#define CORE_VAULT_VAULT_TEXT_H

#include "core/op/op.h"

enum note_mode { NOTE_OVERWRITE, NOTE_APPEND, NOTE_PREPEND };

/* The number of bytes of the frontmatter with its two fences, or 0 if the text does not begin
 * with a frontmatter. */
size_t vault_note_front(const char *data, size_t len);

/* Appends the new text of a note to `out`; the text is made of `old` and `add`. Depending on
 * `mode`, `add` replaces `old`, follows `old` on new lines, or is inserted after the
 * frontmatter (the first `front` bytes of `old`). */
void vault_note_compose(enum note_mode mode, const struct text *old, size_t front,
			const char *add, struct text *out);

/* The length of the longest beginning of `data` that ends with a whole character and takes at
 * most `room` bytes as JSON. */
size_t vault_note_fit(const char *data, size_t len, size_t room);

/* Copies the text into the arena as a C string, with U+FFFD in place of each U+0000. */
const char *vault_note_text(struct arena *a, const char *data, size_t len);

#endif
