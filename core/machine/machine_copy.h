/*
 * machine_copy - directories copied and removed.
 */
#ifndef CORE_MACHINE_MACHINE_COPY_H
#define CORE_MACHINE_MACHINE_COPY_H

#include <stdint.h>

#include "core/base/fault.h"

/* Copies `from` to `to`, which must not exist, with modes and times; shares
 * the blocks where the file system can.  On return the copy is on the disk, except the
 * name `to` itself: the caller syncs that name.  The entry named `except` of `from`
 * itself is left out; so are sockets, pipes, devices and the folder `to`, wherever they
 * stand; how many these were is added to *left_out, unless it is NULL.  Holes stay holes,
 * and a file of another owner loses its setuid bits.  An entry that its mode closes to the
 * caller is a fault, which names the entry.  The owner of `to` may always enter the folder.
 * No tree is too deep. */
int tree_copy(const char *from, const char *to, const char *except, int64_t *left_out,
	      struct fault *f);

/* The same with a folder of a person's, less its `.cadre`, the folder `home` of the state
 * that copies, and all other states below it (with `secret` and `state.db`): a reader of
 * a state's secret has all rights of the state's owner.  A folder that is a state itself,
 * or a link to one, is refused.  The owner of the copy may write in all folders of the copy. */
int tree_copy_golden(const char *from, const char *to, const char *home,
		     int64_t *left_out, struct fault *f);

/* Removes a directory with its content, and syncs the removal to the disk; a missing
 * directory is success. */
int tree_remove(const char *path, struct fault *f);

#endif
