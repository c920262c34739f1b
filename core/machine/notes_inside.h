/*
 * notes_inside - declarations that the files of notes_disk share.
 */
#ifndef CORE_MACHINE_NOTES_INSIDE_H
#define CORE_MACHINE_NOTES_INSIDE_H

#include "core/machine/notes_disk.h"

#define NOTES_STAGE ".cadre-notes"

/* Fills a fault from errno. `what` names the action that failed on `path`. */
int notes_fault(struct fault *f, const char *what, const char *path);

/* Opens the vault's root folder. With `make`, makes a missing root folder. Returns a
 * descriptor, or -1 with errno. */
int notes_root(const struct notes_disk *d, bool make);

/* Opens a path below the folder `root`. Fails if the path leaves `root` or its file system, or
 * contains a symlink. Returns -1 with errno on failure. */
int notes_open(int root, const char *path, int flags);

/* Opens the folder that holds `path`. With `make`, makes missing folders. Sets `*name` to the
 * last name in the path. */
int notes_folder(int root, const char *path, bool make, const char **name);

/* Reads the stamp of a regular file. Returns 1 if the stamp was read, 0 if the name does not
 * exist, or -1 with errno. The errno is EEXIST if the name is not a regular file. */
int notes_stamp(int dir, const char *name, struct note_stamp *out);

bool notes_same(const struct note_stamp *a, const struct note_stamp *b);

/* notes_lock.c: */
int notes_lock(const void *self, const char *path, const char *other, bool wait,
	       struct fault *f);
int notes_lock_teams(const void *self, const char *team, const char *other, bool alone,
		     struct fault *f);
void notes_unlock(const void *self, int lock);
int notes_lock_staged(const void *self, const char *staged, struct fault *f);
uint64_t notes_lock_byte(const char *path);

/* notes_stage.c: */
int notes_stage(const void *self, const char *path, const struct text *content,
		struct note_move *out, struct arena *a, struct fault *f);
int notes_make(const void *self, const struct note_move *move, struct fault *f);
bool notes_made(const void *self, const struct note_move *move);
int notes_staged(const void *self, notes_each *each, void *with, struct fault *f);
int notes_drop(const void *self, const char *staged, struct fault *f);

/* notes_trash.c: */
bool notes_is_trashed(const char *path);
int notes_forget(const void *self, const char *name, struct fault *f);
/* Removes the folders above `path`, a path in the trash, from the innermost folder upwards.
 * Stops at the first folder that is not empty. */
void notes_clear_trash(int root, const char *path);

#endif
