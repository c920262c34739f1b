/*
 * glob - paths of a project, and globs that stand for such paths.
 *
 * Paths and globs are relative to the top of the project, without empty names, `.` and `..`,
 * and with `/` between names. In a glob `*` stands for any characters of a name, and `?` for
 * one character. `**` as a whole name stands for any number of folders; as the last name, it
 * stands for everything below. A glob without such signs in its last name also means all paths
 * below that name: `src` is the file src, and everything in the folder src. Every other
 * character stands for itself.
 */
#ifndef CORE_RESERVATION_GLOB_H
#define CORE_RESERVATION_GLOB_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/arena.h"

enum {
	GLOB_BYTES = 255, /* the longest glob */
	GLOB_PATH = 4096, /* room for a path */
};

/* Writes a path, or a glob, into `out`, relative to the top of the project. An absolute path
 * has to be below `root`; without a `root`, every absolute path is refused. Returns NULL, or
 * the reason why the path is refused. */
const char *glob_tidy(const char *given, const char *root, char out[GLOB_PATH]);

/* The reason why a text from glob_tidy() cannot be reserved; NULL if it can be. */
const char *glob_fault(const char *glob);

/* The names with which every path of a tidy glob begins: the names before the glob's first `*`
 * or `?`. The text is in the arena. */
const char *glob_stem(struct arena *a, const char *glob);

/* Whether some path fits both globs. Adds the steps of the search to `*steps`. Most globs take
 * a few steps; the most are some 100,000 steps, or 0.5 ms. */
bool glob_meets(const char *a, const char *b, size_t *steps);

/* Whether the path fits the glob. Adds the steps to `*steps`, at most 1,500,000 for a path of 4
 * KiB. */
bool glob_matches(const char *glob, const char *path, size_t *steps);

#endif
