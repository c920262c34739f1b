/*
 * vault_front - edits a frontmatter as a person would, and changes only the lines of changed
 * keys.
 */
#ifndef CORE_VAULT_VAULT_FRONT_H
#define CORE_VAULT_VAULT_FRONT_H

#include "core/call/call.h"
#include "core/vault/notes.h"

/* Sets `*out` to a new reference to an object with the frontmatter of a note's text. If the
 * note has no frontmatter, the object is empty. Returns 0, or `conflict` at /path if the
 * frontmatter is not a YAML mapping. */
int front_read(struct call *call, const char *data, size_t len, json_t **out);

/* Makes `changes` in the frontmatter of the text `old`, and appends the new text to `out`. Each
 * key is set to its value, or is removed if its value is null. All bytes behind the frontmatter
 * stay the same. The lines of other keys stay the same too, if possible. A text without a
 * frontmatter gets a frontmatter if a key is set. */
int front_write(struct call *call, const struct text *old, json_t *changes,
		struct text *out);

/* The tags of a frontmatter. The frontmatter holds its tags as a list of texts, or as one text
 * with commas. */
size_t front_tags(json_t *front, struct arena *a, const char ***tags);

#endif
