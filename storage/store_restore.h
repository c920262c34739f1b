/*
 * store_restore - a backup put in the place of a state, whole or not at all.
 *
 * The new state is made ready in HOME/restore.tmp/, where nothing looks for a state.
 * The new state counts from the moment at which that folder is renamed to restore.ready.
 * Then the next process, this one or another one after a crash, moves the former files to
 * HOME/replaced/NAME/ and the new files to their places.  Each step can be done again,
 * since the files that are still in restore.ready/ have not been moved.  The state folder
 * and its locks stay what they are.
 *
 * While replaced/ is there, folders of workspaces that the state does not know are
 * not cleared away: the former state does.
 */
#ifndef STORAGE_STORE_RESTORE_H
#define STORAGE_STORE_RESTORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/fault.h"

/* Checks that `file` is a sound database of cadre's, of a version that this program
 * knows; its contents are not changed.  0 or a fault. */
int restore_check(const char *file, struct fault *f);

/* The number from which epochs and generations of the state in the folder `dir` are
 * counted; 0 where none was restored, or it cannot be read. */
int64_t restore_counts(const char *dir);

/* Makes DIR/restore.tmp/, with a copy of `file` as its state.db, and puts the folder's
 * name into `stage`.  The caller may open it as a state.  0 or a fault. */
int restore_stage(const char *dir, const char *file, char *stage, size_t room,
		  struct fault *f);

/* Removes the staged state. */
void restore_unstage(const char *dir);

/* Puts the staged state, closed by now, in place, with a copy of `secret`, or with a new
 * secret if that is NULL.  `aside` gets the folder of the former files.  0 or a fault,
 * which names the processes that have the state open. */
int restore_commit(const char *dir, const char *secret, char *aside, size_t room,
		   struct fault *f);

/* Tells whether the state in the folder `dir` was lost; `left` may be NULL. */
typedef bool restore_is_lost(const char *dir, char *left, size_t room);

/* Called before a new state is made in the place of a state that lost its state.db: sets the log
 * and secret of the lost state aside, like those of a state that a backup replaces.  Asks
 * `is_lost` while nobody has the state open: if another process has begun a new state or brought
 * the former one back in the meantime, nothing is moved and `aside` is "". */
int restore_set_aside(const char *dir, restore_is_lost *is_lost, char *aside, size_t room,
		      struct fault *f);

/* Completes a restore that a crash interrupted; 0 also where there is none. */
int restore_finish(const char *dir, struct fault *f);

#endif
