/*
 * vault_front - editing a frontmatter as a person would: the lines of the keys
 * that change, and no others.
 */
#ifndef CORE_VAULT_VAULT_FRONT_H
#define CORE_VAULT_VAULT_FRONT_H

#include "core/call/call.h"
#include "core/vault/notes.h"

/* Gets the frontmatter of a note's text as a new reference to an object, empty where
 * there is none.  0, or `conflict` at /path where it is not a YAML mapping. */
int front_read(struct call *call, const char *data, size_t len, json_t **out);

/* Appends the text with `changes` made in its frontmatter to `out`: each key set
 * to its value, or taken out where that is null.  All behind the frontmatter stays
 * as it is, byte for byte, and so do the lines of other keys, if that can be; a
 * text without a frontmatter gets one. */
int front_write(struct call *call, const struct text *old, json_t *changes,
		struct text *out);

/* The tags that a frontmatter names: a list of texts, or one with commas. */
size_t front_tags(json_t *front, struct arena *a, const char ***tags);

#endif
