/*
 * copy - directories copied and removed.
 */
#ifndef COPY_H
#define COPY_H

#include "core/fault.h"

/* Copies `from` to `to`, which must not exist, with modes and times; shares
 * the blocks where the file system can.  An entry named `except` is left out
 * wherever it stands; sockets, pipes and devices too. */
int tree_copy(const char *from, const char *to, const char *except, struct fault *f);

/* Removes a directory and all in it; one that is not there is success. */
int tree_remove(const char *path, struct fault *f);

#endif
