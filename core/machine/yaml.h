/*
 * yaml - a YAML mapping as JSON, read by libyaml.
 *
 * The library is opened on first use, since linking the library makes every process start
 * later.  Without the library, reading is `unavailable`.
 */
#ifndef CORE_MACHINE_YAML_H
#define CORE_MACHINE_YAML_H

#include <jansson.h>

#include "core/base/arena.h"
#include "core/vault/notes.h"

/* Reads `data` (without fences): `*out` is a new reference to an object; scalars
 * are what YAML's core schema says, keys are texts, the last of equal ones
 * counts.  An empty text is an empty mapping.  Anchors, several documents and what goes too deep are
 * `conflict`, as is all that is no mapping.  `keys` (or NULL) gets the lines
 * of the top-level keys, in the caller's arena; none when they have no lines
 * of their own, as in `{a: 1, b: 2}`. */
int yaml_read(const char *data, size_t len, json_t **out, struct note_keys *keys,
	      struct arena *a, struct fault *f);

#endif
