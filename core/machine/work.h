/*
 * work - finds whether somebody worked in a folder, and how large the folder is.
 */
#ifndef CORE_MACHINE_WORK_H
#define CORE_MACHINE_WORK_H

#include <stdbool.h>
#include <stdint.h>

/* Returns the number of bytes that everything in a folder uses on the disk. If `changed` is not
 * NULL, *changed is set to whether somebody worked in the folder. Somebody worked in the folder
 * if one of these facts is true:
 *
 * - a file was written after `since` (ms since 1970; 0: every file counts), or
 * - anything was changed or removed after the folder was complete. The folder was complete at
 *   `since`, or at the write time of the file `stamp` if this time is later. `stamp` may be
 *   NULL. If the file `stamp` is missing, the time at which the folder was complete is unknown.
 *   In this case only files that were written after `since` count.
 *
 * If `each` is not NULL, the function calls `each` for the entries that count as work and are
 * no folders. In this mode the function visits at most a million entries. `each` gets the path
 * of the entry, relative to the folder. The guest's own folder `.cadre` does not count. Links
 * are not followed and no program is run, since the folder's content is not trusted. If `each`
 * is not NULL, a folder of more than a million entries counts as changed.
 *
 * A missing folder counts as empty. If the folder `path` cannot be opened, it may hold any
 * files, so it counts as changed and as 1 byte large. work_look() blocks, so an event loop must
 * not call work_look(). */
int64_t work_look(const char *path, const char *stamp, int64_t since,
		  void (*each)(void *with, const char *path), void *with, bool *changed);

#endif
