/*
 * store_restore - puts a backup in the place of a state, whole or not at all.
 *
 * The new state is made ready in HOME/restore.tmp/, where no process looks for a state.  The
 * new state becomes valid at the moment at which this folder is renamed to restore.ready.
 * After this moment, the next process moves the former files to HOME/replaced/NAME/ and the new
 * files to their places.  The next process is this process, or another process after a crash.
 * Each step can be done again, since the files that are still in restore.ready/ have not been
 * moved.  The state folder and its locks are not replaced.
 *
 * While replaced/ exists, folders of workspaces that the state does not know are not removed,
 * since the former state may know them.
 */
#ifndef STORAGE_STORE_RESTORE_H
#define STORAGE_STORE_RESTORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/fault.h"

/* Checks that `file` is a sound database of cadre's, of a version that this program knows.  The
 * contents of `file` are not changed.  Returns 0 or a fault. */
int restore_check(const char *file, struct fault *f);

/* The number from which the state in the folder `dir` counts its epochs and generations.  0:
 * the state was never restored, or the number cannot be read. */
int64_t restore_counts(const char *dir);

/* Makes DIR/restore.tmp/, with a copy of `file` as its state.db, and writes the folder's name
 * to `stage`.  The caller may open the folder as a state.  Returns 0 or a fault. */
int restore_stage(const char *dir, const char *file, char *stage, size_t room,
		  struct fault *f);

/* Removes the staged state. */
void restore_unstage(const char *dir);

/* Puts the staged state in place.  The caller must have closed the staged state.  `secret` is
 * copied too; if `secret` is NULL, a new secret is made.  `aside` gets the path of the folder
 * with the former files.  Returns 0 or a fault, which names the processes that have the state
 * open. */
int restore_commit(const char *dir, const char *secret, char *aside, size_t room,
		   struct fault *f);

/* Whether the state in the folder `dir` was lost.  `left` may be NULL. */
typedef bool restore_is_lost(const char *dir, char *left, size_t room);

/* Called before a new state is made in the place of a state that lost its state.db.  Sets the
 * log and the secret of the lost state aside, as when a backup replaces a state.  Calls
 * `is_lost` while no process has the state open.  If another process has begun a new state or
 * brought the former state back meanwhile, nothing is moved and `aside` is "". */
int restore_set_aside(const char *dir, restore_is_lost *is_lost, char *aside, size_t room,
		      struct fault *f);

/* Completes a restore that a crash interrupted.  Returns 0 or a fault.  Without such a restore,
 * returns 0. */
int restore_finish(const char *dir, struct fault *f);

#endif
