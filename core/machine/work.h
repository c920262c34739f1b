/*
 * work - tells whether somebody worked in a folder, and how large it is.
 */
#ifndef CORE_MACHINE_WORK_H
#define CORE_MACHINE_WORK_H

#include <stdbool.h>
#include <stdint.h>

/* Tells the bytes on the disk of all that is in a folder, and in *changed (or NULL) whether
 * somebody worked there:
 *
 * - a file was written after `since` (ms since 1970; 0: every file counts), or
 * - anything was changed or removed after the folder was whole.  It was whole at `since`,
 *   or when the file `stamp` (or NULL) was written, whichever is later.  A stamp that is
 *   not there: nobody knows, and only what was written counts.
 *
 * Calls `each` (or NULL) for each file, link and the like that was written since then, with
 * its path from the folder.  The guest's own `.cadre` does not count.  Links are not followed,
 * and no program is run: the folder's content is not to be trusted.  With `each`, a folder of
 * more than a million entries counts as changed.  A missing folder is empty.  A folder that
 * cannot be opened may hold anything, so it counts as changed, with 1 byte.  Blocking: never
 * from a loop. */
int64_t work_look(const char *path, const char *stamp, int64_t since,
		  void (*each)(void *with, const char *path), void *with, bool *changed);

#endif
