/*
 * vault_front - editing a frontmatter as a person would: only the lines of changed keys change.
 */
#ifndef CORE_VAULT_VAULT_FRONT_H
#define CORE_VAULT_VAULT_FRONT_H

#include "core/call/call.h"
#include "core/vault/notes.h"

/* Gets the frontmatter of a note's text as a new reference to an object, which is empty if the
 * note has no frontmatter. 0, or `conflict` at /path if the frontmatter is not a YAML mapping. */
int front_read(struct call *call, const char *data, size_t len, json_t **out);

/* Appends the text with `changes` made in its frontmatter to `out`: each key set to its value,
 * or removed if the value is null. All bytes behind the frontmatter stay the same. The lines of
 * other keys stay the same too, if possible. A text without a frontmatter gets one. */
int front_write(struct call *call, const struct text *old, json_t *changes,
		struct text *out);

/* The tags that a frontmatter names: from a list of texts, or from one text with commas. */
size_t front_tags(json_t *front, struct arena *a, const char ***tags);

#endif
