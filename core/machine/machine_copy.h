/*
 * machine_copy - copies and removes directories.
 */
#ifndef CORE_MACHINE_MACHINE_COPY_H
#define CORE_MACHINE_MACHINE_COPY_H

#include <stdint.h>

#include "core/base/fault.h"

/* Copies the directory `from` to `to`, with modes and times; `to` must not exist. If the file
 * system can share blocks, the files of the copy share their blocks with the files of `from`.
 * On return the copy is on the disk, except for the name `to` itself, which the caller has to
 * sync.
 *
 * The copy leaves out the entry `except` of the directory `from`. At any depth, it also leaves
 * out sockets, pipes, devices and the folder `to`. The number of entries left out is added to
 * *left_out, unless `left_out` is NULL. Holes stay holes, and the copy of another user's file
 * has no setuid and setgid bits. If the caller may not read an entry, the copy fails with a
 * fault that names the entry. The owner of `to` may always enter the folder `to`. No tree is
 * too deep. */
int tree_copy(const char *from, const char *to, const char *except, int64_t *left_out,
	      struct fault *f);

/* Copies a person's folder as tree_copy() does. Also leaves out the entry `.cadre` of `from`,
 * the state folder `home` of the caller, and all other states below `from`. A state is a folder
 * with the files `secret` and `state.db`. A reader of the file `secret` has all rights of the
 * state's owner. If `from` is a state, or a link to a state, the function fails. The owner of
 * the copy may write in all folders of the copy. */
int tree_copy_golden(const char *from, const char *to, const char *home,
		     int64_t *left_out, struct fault *f);

/* Removes a directory with its content, and syncs the removal to the disk; a missing
 * directory is success. */
int tree_remove(const char *path, struct fault *f);

#endif
