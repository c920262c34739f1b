/*
 * home_trust - whether the state in a folder is trusted.
 *
 * A `.cadre` found upward is not trusted until it is known: it may have come with a
 * clone.  It counts only if this user made or trusted the folder here, and the folder's
 * database is still the same.  Besides, git must have tracked no file in the folder, or the
 * same files as when the user trusted the folder.  A `.cadre` without `state.db` is no state
 * unless it is known, or holds a restore that was interrupted.
 *
 * The folder's id is random and in its own file `id`.  The file's first line is the id, and
 * the folder that it was made for, by inode and time of birth.  Nobody can choose a folder's
 * time of birth on another machine.  So an id from an archive, a clone or a copy differs
 * from an id that cadre made here.
 *
 * A line `db` names the state's database in the same way, so that a replacement by git
 * or an archive is seen: both always make a new file.  A line `next` names the database
 * that a restore is about to put there.  It is written before the restore counts, so
 * that a crash at any point leaves a database that is named. If a file system keeps no
 * times of birth, the inode alone counts.  An id without these lines is of a state that is
 * being made.
 *
 * The states that count are noted in the user's own file, $XDG_STATE_HOME/cadre/known (else
 * ~/.local/state/cadre/known; see home_users_folder()): a line each, with the day, the
 * state's id, its device, inode and path.  The first word is `made` by `cadre init`,
 * `trusted` by `cadre trust`, or `tracked`: made, and then seen to be tracked by git, so
 * that it needs to be trusted.  After the path is the sum of its `cadre.toml`, and, for a
 * trusted state, of the files that git tracked in the state (core/home/git_index.h).  Files
 * that git brings later are not the user's, and git may also write files there that it
 * tracks nowhere.  Id and inode must be as noted, and one of device and path: a folder that
 * was moved is known, a copy is not, nor is a new folder that got the inode of a removed one.
 */
#ifndef CORE_HOME_HOME_TRUST_H
#define CORE_HOME_HOME_TRUST_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/fault.h"
#include "core/home/git_index.h"

/* --- whether a state counts ----------------------------------------------------------- */

enum found_why {
	FOUND_NONE, /* there is no state */
	FOUND_COUNTS,
	FOUND_UNKNOWN, /* neither made here nor trusted */
	FOUND_LINK,
	FOUND_FOREIGN, /* another user's */
	FOUND_TRACKED, /* git tracks something in it */
	FOUND_UNNOTED, /* as FOUND_TRACKED, and the note of it cannot be written */
	FOUND_WAS_TRACKED, /* git tracked a file in the folder earlier */
	FOUND_CHANGED, /* git tracks other things in it, or its settings are others,
			  than when it was trusted */
	FOUND_EDITED, /* the settings have changed since the folder was made */
	FOUND_OTHER, /* another database is in its place */
	FOUND_NO_INDEX, /* the files that git tracks cannot be read */
	FOUND_STRAY, /* of a repository that does not know this worktree */
};

/* Whether the folder `path` counts.  Records three facts: that git tracks a file in the
 * folder (for good; FOUND_UNNOTED if the record fails), the present database if the
 * folder's id names no database, and the notes of trust_look(). */
enum found_why trust_judge(const char *path);

/* Refuses a state folder: says why it does not count, and what to do. */
int trust_refuse(const char *path, enum found_why why, struct fault *f);
/* The same as words: what follows the folder's path. */
const char *trust_reason(enum found_why why);

/* Opens a state folder that is not itself a link: a descriptor, or -1 with errno. */
int home_open(const char *path);

/* Whether a folder has a state. */
bool home_has_state(int dir);

/* --- the states that this user made or trusts ------------------------------------------ */

enum { STATE_ID = 32 }; /* digits */

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
	char sum[TRACKED_SUM + 1];
};

/* Looks up how the state folder `path`, open as `dir`, is known.  Unless the lock is
 * held, this may write the new place of a moved state, and a sum that the user changed
 * without git. */
enum known_how trust_look(int dir, const char *path);

/* Notes that git tracks files in a state that was made here and is not trusted.  Waits
 * for the lock; after a fault nothing is noted. */
int trust_taint(int dir, const char *path, struct fault *f);

/* Makes the private folder of the file, or checks that it is private: 0 or a fault. */
int trust_prepare(struct fault *f);

/* Notes a state, under its id, or under a new one if cadre has not made that id for this
 * very folder, or git tracks files in it; KNOWN_NOT removes the note of `path`.  1, 0 if
 * nothing is noted, or a fault.  A file that cannot be read is left as it is. */
int trust_add(int dir, const char *path, enum known_how how, struct fault *f);
int trust_remove(const char *path, struct fault *f);

/* Calls `each` for every noted state, until it does not return 0; a fault is about the
 * file. */
int trust_each(int (*each)(void *with, const struct known *k), void *with,
	       struct fault *f);

/* --- the id of a state folder ----------------------------------------------------------- */

/* Whether the id was made for this very folder.  False where the file system keeps no
 * times of birth. */
bool state_id_is_ours(int dir);

/* Changes what a folder's id names; a folder without an id stays without.
 * bind: the database that is there, if none is named; unbind: none, before a new one
 * is made; expect: `file`, relative to the
 * folder, is about to take its place; settle: if `next` is in place, it becomes `db`; on
 * an overlay, also copies the file up and takes its new name.  While another
 * process changes it they wait for two seconds, then `unavailable`.  settle may open and
 * close the database, which ends this process's locks on it: it is not open here then. */
int state_id_bind(int dir, struct fault *f);
int state_id_unbind(int dir, struct fault *f);
int state_id_expect(int dir, const char *file, struct fault *f);
int state_id_settle(int dir, struct fault *f);

#endif
