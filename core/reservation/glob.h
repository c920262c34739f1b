/*
 * glob - paths of a project, and globs of them.
 *
 * Paths and globs are relative to the top of the project, without empty names, `.` and
 * `..`, and with `/` between names.  In a glob `*` stands for any characters of a name, `?`
 * for one, and `**` as a whole name for any number of folders; at the end, for all that is
 * below.  A glob without such signs in its last name also means all paths below that
 * name: `src` is the file src, and everything in the folder src.  All else stands for
 * itself.
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

/* Writes a path, or a glob, into `out` as it reads from the top of the project.  An absolute path
 * has to be below `root`; without a `root`, every absolute path is refused.  NULL, or why there
 * is no such path. */
const char *glob_tidy(const char *given, const char *root, char out[GLOB_PATH]);

/* Why a text from glob_tidy() is no glob that can be reserved; NULL: it can be. */
const char *glob_fault(const char *glob);

/* The names with which each path begins that a tidy glob means: those before its first `*` or `?`,
 * in the arena. */
const char *glob_stem(struct arena *a, const char *glob);

/* Whether some path fits both globs.  Adds the steps of the search to `*steps`: a few for
 * most globs, at most some 100,000, or 0.5 ms. */
bool glob_meets(const char *a, const char *b, size_t *steps);

/* Whether the glob means the path; `*steps` as above, for a path of 4 KiB at most 1,500,000. */
bool glob_matches(const char *glob, const char *path, size_t *steps);

#endif
