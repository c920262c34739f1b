/*
 * machine_copy - copies and removes directories.
 */
#ifndef CORE_MACHINE_MACHINE_COPY_H
#define CORE_MACHINE_MACHINE_COPY_H

#include <stdint.h>

#include "core/base/fault.h"

/* Copies `from` to `to`, which must not exist, with modes and times. Shares the blocks if the
 * file system can. On return the copy is on the disk, except for the name `to` itself. The
 * caller syncs the name `to`.
 *
 * Left out are the entry named `except` directly in `from`, and, at any depth, sockets, pipes,
 * devices and the folder `to`. The number of entries left out is added to *left_out, unless
 * `left_out` is NULL. Holes stay holes, and a file of another owner loses its setuid bits. An
 * entry that the caller may not read is a fault, which names the entry. The owner of `to` may
 * always enter the folder. No tree is too deep. */
int tree_copy(const char *from, const char *to, const char *except, int64_t *left_out,
	      struct fault *f);

/* Like tree_copy(), for a person's folder. Also left out are the folder's `.cadre`, the folder
 * `home` of the state that copies, and all other states below `from` (folders with `secret` and
 * `state.db`). States are left out because a reader of a state's secret has all rights of the
 * state's owner. A folder that is a state itself, or a link to a state, is refused. The owner
 * of the copy may write in all folders of the copy. */
int tree_copy_golden(const char *from, const char *to, const char *home,
		     int64_t *left_out, struct fault *f);

/* Removes a directory with its content, and syncs the removal to the disk; a missing
 * directory is success. */
int tree_remove(const char *path, struct fault *f);

#endif
