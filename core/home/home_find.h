/*
 * home_find - finds the state that a process uses.
 *
 * The state is a trusted `.cadre` (core/home/home_trust.h). The `.cadre` is in the working
 * directory, in a folder above the working directory, or in the main worktree of such a
 * folder's repository. A `.cadre` that does not count is skipped, so that the search can find a
 * state further up. If there is no state further up, the skipped `.cadre` is refused. If no
 * `.cadre` is found at all, the user's own state is used.
 *
 * A project's own state may have been moved or removed (`git clean -fdx`). Besides, git's
 * folder of a linked worktree may be missing, so that no path leads to the state. The user's
 * own state must not take the place of a project's state, since nobody would look for the
 * project's data in the user's own state.
 *
 * A state may be made in a folder that does not exist, or that holds no files of cadre. A
 * folder without state.db is a lost state if the folder holds files that only a state leaves.
 * Nothing makes a new state in place of a lost state unless the user asks. Otherwise callers
 * would silently find an empty state. `cadre.toml` alone does not make a folder a lost state,
 * since people write `cadre.toml` before there is a state.
 *
 * A process must be able to tell a lost state from a state that is being made. So a new state
 * gets its state.db before all other files except .gitignore and `id`. The new state.db stays
 * empty until a store is opened in the folder.
 */
#ifndef CORE_HOME_HOME_FIND_H
#define CORE_HOME_HOME_FIND_H

#include <dirent.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/home/home_trust.h"

/* --- upward ---------------------------------------------------------------------------- */

struct found {
	char path[4096]; /* the state folder that counts, or "" */
	char passed[4096]; /* the nearest state folder that does not count, or "" */
	enum found_why why; /* why `passed` does not count */
};

/* Searches upward from `dir`, which is absolute and without links. Judges each .cadre by
 * trust_judge(). */
void find_upward(struct found *out, const char *dir);

/* Finds the place of a new state for the project around `dir`. The place is in the project's
 * repository, or in `dir` if there is no repository. `stray`: a state counts at the found
 * place, but belongs to a repository that does not list this worktree. Returns false if the
 * path is too long. Returns false with a fault if the file of known states cannot be used. */
bool find_place(const char *dir, char out[4096], bool *stray, struct fault *f);

/* Whether a file in `dir` belongs to the project whose state is the folder `state`. No other
 * repository and no other state may lie between `dir` and `state`. */
bool find_is_of(const char *dir, const char *state);

/* Checks whether a state is missing. `dir` is absolute and without links, and no state was
 * found upward from `dir`. Returns a fault if there was a state earlier, or if the file `.git`
 * that leads to the state is broken. Returns 0 otherwise. */
int find_check_gone(const char *dir, struct fault *f);

/* --- the user's own folder, independent of projects ------------------------------------- */

/* The user's own folder holds the notes of known states (core/home/home_trust.h), and the state
 * that is used outside of projects. The path of the user's own folder is $XDG_STATE_HOME/cadre,
 * else .local/state/cadre in $HOME, else .local/state/cadre in the home that the password file
 * names. */

/* Writes the path of the user's own state folder to `out`. Returns a fault if the user's home
 * is unknown. */
int home_users_folder(char out[4096], struct fault *f);

/* Refuses to make the user's own folder below a folder that belongs to another user, as with
 * `sudo -E`. A folder that belongs to root is allowed. */
int home_may_make(struct fault *f);

/* Refuses a state folder of another user. Root may read such a folder but not write to it,
 * since the state's user could not open files that root made. */
int home_may_write(const char *path, struct fault *f);
/* Does the same as home_may_write(), for an open folder whose owner is known. */
int home_check_owner(uid_t owner, const char *path, struct fault *f);

/* --- a new state, a whole state, a lost state -------------------------------------------- */

/* Whether a folder holds at most the files that a killed `init` leaves, and the file `also`
 * (may be NULL). */
bool find_is_fresh(int dir, const char *also);

/* Checks that `cadre init` may make the state `path`. The path must be free, or be this user's
 * state, or be a folder of this user that holds at most settings. Returns 0 or a fault. */
int find_check_fresh(const char *path, struct fault *f);

/* Calls `each` for every entry of the folder `path`, open as `dir`, until `each` returns a
 * number other than 0. Returns a fault if the folder cannot be listed to its end. */
int find_each_part(int dir, const char *path,
		   int (*each)(int dir, const char *path, const struct dirent *e,
			       struct fault *f),
		   struct fault *f);

/* Refuses a folder, open as `dir`, that contains an entry which is neither a file nor a folder.
 * So no link can lead out of the state. */
int find_check_parts(int dir, const char *path, struct fault *f);

/* Whether the state in the folder `dir` was lost. `left` (may be NULL) gets the names of the
 * files that are left. */
bool home_is_lost(const char *dir, char *left, size_t room);

/* Whether there is a state with data but without its secret. A new secret would void the tokens
 * of all agents, so no secret is made unless the user asks. */
bool home_lost_secret(const char *dir);

/* Fills a fault which says that a state was lost. The fault's hint says what the user can do. */
int home_refuse_lost(const char *dir, struct fault *f);

/* Makes the empty state.db of a new state, unless there is a state.db. Returns 0 or a fault. */
int home_make_empty(const char *dir, struct fault *f);

/* Whether the folder `dir` has a state with data. */
bool home_has_data(const char *dir);

#endif
