/*
 * machine_copy - directories copied and removed.
 */
#ifndef CORE_MACHINE_MACHINE_COPY_H
#define CORE_MACHINE_MACHINE_COPY_H

#include <stdint.h>

#include "core/base/fault.h"

/* Copies `from` to `to`, which must not exist, with modes and times; shares
 * the blocks where the file system can.  What it made is on the disk when it
 * returns, but for the name `to` itself: that is the caller's to sync.  The entry
 * named `except` of `from` itself is left out; so are sockets, pipes, devices and the
 * folder `to`, wherever they stand; how many these were is added to *left_out, unless
 * it is NULL.  Holes stay holes, and a file of another owner loses its setuid bits.  What is
 * the caller's own and closed to him by its mode is opened while it is copied; the copy has
 * that mode too, less `to` itself, which its owner may enter.  No tree is too deep. */
int tree_copy(const char *from, const char *to, const char *except, int64_t *left_out,
	      struct fault *f);

/* The same with a folder of a person's, less its `.cadre`, the folder `home` of the state
 * that copies, and all other states below it (with `secret` and `state.db`): whoever has
 * a state's secret may do in it what its owner may.  A folder that is a state itself, or a
 * link to one, is refused.  No mode in it is changed: what is closed there is a fault; and
 * the owner of the copy may write in all its folders. */
int tree_copy_golden(const char *from, const char *to, const char *home,
		     int64_t *left_out, struct fault *f);

/* Copies a regular file from one open directory to another, where the name must not
 * exist; a link is not followed, and anything but a file refused.  The caller syncs. */
int file_copy(int from, int to, const char *name, struct fault *f);

/* Removes a directory and all in it, and has that on the disk; one that is not
 * there is success. */
int tree_remove(const char *path, struct fault *f);

#endif
