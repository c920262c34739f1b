/*
 * glob - paths of a project, and globs that stand for such paths.
 *
 * Paths and globs are relative to the top of the project. In paths and globs, a `/` separates
 * the names, and no name is empty, `.` or `..`. In a glob `*` stands for any characters of a
 * name, and `?` for one character. A name `**` in front of other names stands for any number of
 * folders. A last name `**` stands for all paths below the names before it. A glob with neither
 * `*` nor `?` in its last name also means all paths below that name. For example, `src` means
 * the file src, and everything in the folder src. Every character except `*` and `?` stands for
 * itself.
 */
#ifndef CORE_RESERVATION_GLOB_H
#define CORE_RESERVATION_GLOB_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/arena.h"

enum {
	GLOB_BYTES = 255, /* maximum number of bytes in a glob */
	GLOB_PATH = 4096, /* room for a path, with the NUL */
};

/* Writes a path or a glob into `out`, relative to the top of the project. An absolute path has
 * to be in the folder `root`. If `root` is NULL, every absolute path is refused. Returns NULL,
 * or the reason why the path is refused. */
const char *glob_tidy(const char *given, const char *root, char out[GLOB_PATH]);

/* Returns the reason why a text from glob_tidy() cannot be reserved, or NULL if the text can be
 * reserved. */
const char *glob_fault(const char *glob);

/* Returns the stem of a tidy glob. The stem consists of the complete names before the first `*`
 * or `?`. Every path that matches the glob begins with the stem. The stem's text is in the
 * arena. */
const char *glob_stem(struct arena *a, const char *glob);

/* Whether a path can match both globs. Adds the steps of the search to `*steps`. Most searches
 * take a few steps. The longest search takes some 100,000 steps, or 0.5 ms. */
bool glob_meets(const char *a, const char *b, size_t *steps);

/* Whether the path matches the glob. Adds the steps of the search to `*steps`. A search in a
 * path of 4 KiB takes at most 1,500,000 steps. */
bool glob_matches(const char *glob, const char *path, size_t *steps);

#endif
