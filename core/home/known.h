/*
 * known - the states that this user made or trusts.
 *
 * A state in a project's folder may have come with the project: it counts only
 * if it is noted in the user's own file, $XDG_STATE_HOME/cadre/known (else
 * ~/.local/state/cadre/known; see core/home/users.h): a line each, with the day, the
 * state's id, its device, inode and path.  The first word is `made` by `cadre init`,
 * `trusted` by `cadre trust`, or `tracked`: made, and then seen to be tracked by git, so
 * that it needs to be trusted.  After the path is the sum of its `cadre.toml`, and, for a
 * trusted state, of the files that git tracked in the state (core/home/tracked.h).  Files
 * that git brings later are not the user's, and git may also write files there that it
 * tracks nowhere.  The id is random and in the state's own file `id`.  Id and inode must
 * be as noted, and one of device and path: a folder that was moved is known, a copy is
 * not, nor is a new folder that got the inode of a removed one.
 */
#ifndef CORE_HOME_KNOWN_H
#define CORE_HOME_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/fault.h"
#include "core/home/state_id.h"
#include "core/home/tracked.h"

/* Ways in which a state is known.  The last two are never noted: a trusted state in which
 * git now tracks other things, or whose settings differ; a state made here whose settings
 * differ. */
enum known_how {
	KNOWN_NOT,
	KNOWN_MADE,
	KNOWN_TRUSTED,
	KNOWN_TRACKED,
	KNOWN_CHANGED,
	KNOWN_EDITED,
};

struct known {
	enum known_how how;
	char day[11], id[STATE_ID + 1];
	uint64_t dev, ino;
	char path[4096];
	char sum[TRACKED_SUM + 1]; /* "", "-": an older cadre noted it */
};

/* Looks up how the state folder `path`, open as `dir`, is known.  Unless the lock is
 * held, this may write the new place of a moved state, and an id of the older form.  It
 * may also write a sum that an older cadre did not note, or that the user changed without
 * git. */
enum known_how known_look(int dir, const char *path);

/* Notes that git tracks files in a state that was made here and is not trusted.  Waits
 * for the lock; after a fault nothing is noted. */
int known_taint(int dir, const char *path, struct fault *f);

/* Makes the private folder of the file, or checks that it is private: 0 or a fault. */
int known_prepare(struct fault *f);

/* Notes a state, under its id, or under a new one if cadre has not made that id for this
 * very folder, or git tracks files in it; KNOWN_NOT removes the note of `path`.  1, 0 if
 * nothing is noted, or a fault.  A file that cannot be read is left as it is. */
int known_add(int dir, const char *path, enum known_how how, struct fault *f);
int known_remove(const char *path, struct fault *f);

/* Calls `each` for every noted state, until it does not return 0; a fault is about the
 * file. */
int known_each(int (*each)(void *with, const struct known *k), void *with,
	       struct fault *f);

#endif
