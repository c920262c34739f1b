/*
 * child - programs that are run to their end, without a shell.
 *
 * They are found in PATH, read nothing, and inherit no descriptor.  One that
 * cannot be run, or ends with another status than 0, is FAULT_IO with the last
 * line that it wrote to stderr.  Blocking: never from a loop.
 */
#ifndef CHILD_H
#define CHILD_H

#include "core/arena.h"
#include "core/fault.h"

/* `words` end with NULL; `dir` is where it runs, NULL: here. */
int child_run(const char *const *words, const char *dir, struct fault *f);

/* The same; what it wrote to stdout is in *out, the arena's. */
int child_read(const char *const *words, const char *dir, struct arena *a, char **out,
	       struct fault *f);

#endif
