/*
 * store_restore - replaces a state by a backup, either completely or not at all.
 *
 * The new state is prepared in HOME/restore.tmp/, which no other process opens as a state. The
 * new state becomes valid when this folder is renamed to restore.ready. After the rename, this
 * process moves the former files to HOME/replaced/NAME/ and the new files into HOME. If this
 * process crashes, the next process that opens the state moves the files. Each step can be
 * repeated, since restore.ready/ contains only files that were not moved yet. The state folder
 * and its locks are not replaced.
 *
 * While replaced/ exists, a workspace's folder is not removed even if the state has no row for
 * it, since a former state may have this row.
 */
#ifndef STORAGE_STORE_RESTORE_H
#define STORAGE_STORE_RESTORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/fault.h"

/* Checks that `file` is a sound state of cadre, of a version that this program can read. The
 * contents of `file` are not changed. Returns 0 or a fault. */
int restore_check(const char *file, struct fault *f);

/* The number from which the state in the folder `dir` counts epochs and generations. Returns 0
 * if the state was never restored, or if the number cannot be read. */
int64_t restore_counts(const char *dir);

/* Makes DIR/restore.tmp/ with a copy of `file` as state.db, and writes the new folder's path to
 * `stage`. The caller may open the folder as a state. Returns 0 or a fault. */
int restore_stage(const char *dir, const char *file, char *stage, size_t room,
		  struct fault *f);

/* Removes DIR/restore.tmp/ with the staged state. */
void restore_unstage(const char *dir);

/* Replaces the state in DIR by the staged state, which the caller must have closed. Copies the
 * file `secret`, too, or makes a new secret if `secret` is NULL. Writes to `aside` the path of
 * the folder with the former files. Returns 0 or a fault. If other processes have the state
 * open, the fault names these processes. */
int restore_commit(const char *dir, const char *secret, char *aside, size_t room,
		   struct fault *f);

/* Returns whether the folder `dir` has lost its state.db. Writes the names of the remaining
 * files to `left`, which may be NULL. */
typedef bool restore_is_lost(const char *dir, char *left, size_t room);

/* Prepares the folder `dir`, which has lost its state.db, for a new state. Moves the log and
 * the secret of the lost state to a folder in replaced/, and writes this folder's path to
 * `aside`. Calls `is_lost` while no process has the state open. If another process has
 * meanwhile made a new state or brought the former state back, nothing is moved, and `aside` is
 * "". */
int restore_set_aside(const char *dir, restore_is_lost *is_lost, char *aside, size_t room,
		      struct fault *f);

/* If a crash interrupted a restore, completes the restore. Returns 0 or a fault. */
int restore_finish(const char *dir, struct fault *f);

#endif
