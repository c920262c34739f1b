/*
 * yaml - reads a YAML mapping as JSON, with libyaml.
 *
 * libyaml is loaded when a process first reads YAML, since linking libyaml would slow the start
 * of every process. If libyaml cannot be loaded, yaml_read() fails with `unavailable`.
 */
#ifndef CORE_MACHINE_YAML_H
#define CORE_MACHINE_YAML_H

#include <jansson.h>

#include "core/base/arena.h"
#include "core/vault/notes.h"

/* Reads `data`, the YAML between the lines `---` of a note. `*out` gets a new reference to an
 * object. Scalars have the types of YAML's core schema, but hexadecimal and octal numbers,
 * numbers such as `007`, `.inf` and `.nan` stay texts. Keys are texts. If a key is repeated,
 * its last value counts. An empty text is an empty mapping. Aliases of anchors, several
 * documents, a text that is too long or is nested too deeply, and a text that is no mapping
 * fail with `conflict`. `keys` (or NULL) gets the lines of the top-level keys, in the caller's
 * arena. `keys` stays empty if the keys do not have lines of their own, as in `{a: 1, b: 2}`. */
int yaml_read(const char *data, size_t len, json_t **out, struct note_keys *keys,
	      struct arena *a, struct fault *f);

#endif
