/*
 * work - finds whether somebody worked in a folder, and how large the folder is.
 */
#ifndef CORE_MACHINE_WORK_H
#define CORE_MACHINE_WORK_H

#include <stdbool.h>
#include <stdint.h>

/* Returns the bytes on the disk of everything in a folder. *changed (or NULL) tells whether
 * somebody worked in the folder:
 *
 * - a file was written after `since` (ms since 1970; 0: every file counts), or
 * - anything was changed or removed after the folder was complete. The folder was complete at
 *   `since`, or when the file `stamp` (or NULL) was written, whichever is later. If the stamp
 *   is missing, the time at which the folder was complete is unknown, and only files that were
 *   written after `since` count.
 *
 * Calls `each` (or NULL) with the path, relative to the folder, of each entry that is no folder
 * and that counts as work. The guest's own `.cadre` does not count. Links are not followed and
 * no program is run, since the folder's content is not trusted. With `each`, a folder of more
 * than a million entries counts as changed.
 *
 * A missing folder counts as empty. A folder that cannot be opened may hold any files, so it
 * counts as changed, with 1 byte. The function blocks, so an event loop must not call it. */
int64_t work_look(const char *path, const char *stamp, int64_t since,
		  void (*each)(void *with, const char *path), void *with, bool *changed);

#endif
