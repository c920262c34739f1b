/*
 * home_trust - whether the state in a folder is trusted.
 *
 * A `.cadre` that is found upward may have come with a clone. So only a known `.cadre` is
 * trusted. A `.cadre` counts only if this user made or trusted the folder here, and the
 * folder's database is still the same. Besides, git must have tracked no file in the folder, or
 * the same files as when the user trusted the folder. A `.cadre` without `state.db` is no
 * state, unless the folder is known or holds an interrupted restore.
 *
 * A state folder has a random id, which is stored in the folder's file `id`. The first line of
 * the file is the id, followed by the inode and time of birth of the folder for which the id
 * was made. The sender of a folder cannot choose the time of birth that the folder gets on the
 * receiver's machine. So an id from an archive, a clone or a copy differs from an id that cadre
 * made here.
 *
 * A line `db` of the file `id` names the state's database by inode and time of birth. Git and
 * archive programs always write a new file, so cadre notices that git or an archive has
 * replaced a database. A line `next` names the database that a restore is about to install. The
 * line `next` is written before the restore takes effect. So the id names the database even
 * after a crash at any point. If a file system keeps no times of birth, the inode alone counts.
 * An id without the lines `db` and `next` belongs to a state that is being made.
 *
 * The states that count are noted in the user's own file, $XDG_STATE_HOME/cadre/known (else
 * ~/.local/state/cadre/known; see home_users_folder()). Each state has one line with the day of
 * the note and the state's id, device, inode and path. The first word of a line is `made` (by
 * `cadre init`), `trusted` (by `cadre trust`), or `tracked`. The word `tracked` means that the
 * state was made here, and that git later tracked files in the state. So the user must trust a
 * `tracked` state anew.
 *
 * The last word of a line is the sum of the state's `cadre.toml`. For a trusted state the sum
 * also covers the files that git tracked in the state (core/home/git_index.h). Files that git
 * adds later may come from other people. Git may also write files into the state without
 * listing them in an index.
 *
 * The drawing shows how a state becomes known. The words in CAPITALS are results of
 * trust_judge():
 *
 *	          cadre init            git tracks a file in it: TRACKED
 *	UNKNOWN -------------> `made` -----------------------------------> `tracked`
 *	   |                     |                                             |
 *	   |                     +--> the settings changed: EDITED ---+        |
 *	   |                     +--> another database: OTHER --------+        |
 *	   |  cadre trust                                cadre trust  |        |  cadre trust
 *	   +----------------> `trusted` <-----------------------------+--------+
 *	                       |    ^
 *	                       |    |  cadre trust
 *	                       |    +---- tracked files or settings changed: CHANGED
 *	                       |    +---- another database: OTHER
 *	                       |
 *	                       +--> UNKNOWN: cadre trust --remove, from any state
 *
 * A `tracked` state is WAS_TRACKED when git no longer tracks a file in the state. A state
 * counts only if it is `made` or `trusted`, and has not changed. trust_judge() computes EDITED,
 * OTHER and CHANGED anew at each call, so these results end when the change is undone.
 *
 * A noted state is recognized if three things are the same as in the note: its id, its inode,
 * and either its device or its path. So a state stays known when its folder is moved within its
 * file system. A copy of the folder is not known. A new folder that got the inode of a removed
 * folder is not known either.
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
	FOUND_UNKNOWN, /* the user has not made or trusted the folder */
	FOUND_LINK,
	FOUND_FOREIGN, /* the folder belongs to another user */
	FOUND_TRACKED, /* git tracks a file in the folder */
	FOUND_UNNOTED, /* like FOUND_TRACKED, but the note could not be written */
	FOUND_WAS_TRACKED, /* git tracked a file in the folder earlier */
	FOUND_CHANGED, /* tracked files or settings changed after `cadre trust` */
	FOUND_EDITED, /* the settings have changed since the folder was made */
	FOUND_OTHER, /* the database was replaced by another database */
	FOUND_NO_INDEX, /* the files that git tracks cannot be read */
	FOUND_STRAY, /* the folder's repository does not list this worktree */
};

/* Judges whether the folder `path` counts as a state. If git tracks a file in the folder, adds
 * a permanent note that git tracks the state. FOUND_UNNOTED means that this permanent note
 * could not be written. If the folder's id names no database, may add the present database to
 * the id. May also update a note, as trust_look() does. */
enum found_why trust_judge(const char *path);

/* Fills the fault for a state folder that does not count. The fault names the reason, and what
 * the user can do. */
int trust_refuse(const char *path, enum found_why why, struct fault *f);
/* Returns the reason in words, to be printed behind the folder's path. */
const char *trust_reason(enum found_why why);

/* Opens a state folder that is not itself a link. Returns a descriptor, or -1 with errno. */
int home_open(const char *path);

/* Whether a folder has a state. */
bool home_has_state(int dir);

/* --- the states that this user made or trusts ------------------------------------------ */

enum { STATE_ID = 32 }; /* hexadecimal digits of an id */

/* Ways in which a state is known. KNOWN_CHANGED and KNOWN_EDITED are never noted. KNOWN_CHANGED
 * is a trusted state whose tracked files or settings differ now. KNOWN_EDITED is a state made
 * here whose settings differ now. */
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

/* Returns how the user's notes list the state folder `path`, which is open as `dir`: made,
 * trusted, tracked or not at all. If no process holds the lock, this function may also update
 * the state's note. The updated note has the new path of a moved state, or a new sum after the
 * user edited the settings without git. */
enum known_how trust_look(int dir, const char *path);

/* Adds a note that git tracks files in a state that was made here and is not trusted. Waits for
 * the lock. After a fault nothing has been noted. */
int trust_taint(int dir, const char *path, struct fault *f);

/* Lets `write` change the settings of a state, and notes the new settings as the user's. Refuses
 * if the present settings are not those that are noted. A state without a note stays without a
 * note. Returns 0 or a fault. */
typedef int trust_write(void *arg, struct fault *f);
int trust_edit(int dir, const char *path, trust_write *write, void *arg, struct fault *f);

/* Makes the private folder of the file with the notes, or makes an existing folder private.
 * Returns 0 or a fault. */
int trust_prepare(struct fault *f);

/* trust_add() notes a state. trust_add() keeps the folder's id if the folder is noted already.
 * trust_add() also keeps an id that cadre made for this very folder, if git tracks no files in
 * the folder. Otherwise trust_add() makes a new id. trust_remove() removes the note of `path`.
 * trust_add() returns 0 or a fault. trust_remove() returns 1, 0 if `path` has no note, or a
 * fault. A file of notes that cannot be read is not changed. */
int trust_add(int dir, const char *path, enum known_how how, struct fault *f);
int trust_remove(const char *path, struct fault *f);

/* Calls `each` for every noted state, until `each` returns a number other than 0. A fault means
 * that the file cannot be read. */
int trust_each(int (*each)(void *with, const struct known *k), void *with,
	       struct fault *f);

/* --- the id of a state folder ----------------------------------------------------------- */

/* Whether the id was made for this very folder. Returns false if the file system keeps no times
 * of birth. */
bool state_id_is_ours(int dir);

/* The functions state_id_...() change which database a folder's id names. These functions give
 * no id to a folder without an id.
 *
 * state_id_bind() names the present database if the id names no database. state_id_unbind()
 * makes the id name no database, before a new database is made. state_id_expect() names `file`,
 * relative to the folder, as the `next` database. state_id_settle() names the `next` database
 * as `db` if that database is in place. On an overlay, state_id_settle() also makes the file
 * system copy the database, and stores the copy's time of birth.
 *
 * While another process changes the id, these functions wait for two seconds and then fail with
 * `unavailable`. state_id_settle() may open and close the database, which ends this process's
 * locks on the database. So this process must not have the database open. */
int state_id_bind(int dir, struct fault *f);
int state_id_unbind(int dir, struct fault *f);
int state_id_expect(int dir, const char *file, struct fault *f);
int state_id_settle(int dir, struct fault *f);

#endif
