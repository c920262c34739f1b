/*
 * home_find - which state is meant.
 *
 * It is that of the project around the working directory: a `.cadre` found upward that is
 * trusted (core/home/home_trust.h).  A state that does not count is passed
 * over, so that it hides no state further up; if no state is further up, the passed one
 * is refused.  Where no state is found, it is the user's own.
 *
 * A project's own state may have been moved or removed (`git clean -fdx`).  Or git's
 * folder of a linked worktree is gone, so that no path leads to the state.  The user's
 * own state must not take the place of the project's state: nobody would look for the
 * project's data there.
 *
 * A folder that does not exist, or holds nothing of cadre's, is where a state may be
 * made.  A folder that holds files which only a state leaves, but no state.db, is a lost
 * state.  No new state is made in its place unasked, since callers would then find it
 * empty.  `cadre.toml` does not count: people write it before there is a state.
 *
 * So that this can be told from a state that is being made, state.db is the first file of
 * a new one: it is made empty, and stays so until a store is opened there.
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

/* Searches from `dir`, absolute and without links, upward; judges each .cadre by
 * trust_judge(). */
void find_upward(struct found *out, const char *dir);

/* The place of a new state for the project around `dir`: in its repository, else in
 * `dir`.  `stray`: a state counts there, but belongs to a repository that does not know
 * this worktree.  False if the path is too long, or with a fault of the file of known
 * states. */
bool find_place(const char *dir, char out[4096], bool *stray, struct fault *f);

/* Whether a file in `dir` is of the project whose state is the folder `state`:
 * no other repository and no other state is in between. */
bool find_is_of(const char *dir, const char *state);

/* Checks whether a state is missing.  `dir` is absolute and without links, and no state
 * was found above it: a fault if there was one, or if the file that leads to it is
 * broken; else 0. */
int find_check_gone(const char *dir, struct fault *f);

/* --- the user's own folder, whatever project is around ---------------------------------- */

/* It holds the notes of known states (core/home/home_trust.h), and the state that is used
 * outside of projects.  It is $XDG_STATE_HOME/cadre, else .local/state/cadre in $HOME,
 * else the same in the home that the password file names. */

/* The path of the user's own state folder; a fault if the user's home is unknown. */
int home_users_folder(char out[4096], struct fault *f);

/* Refuses to make anything in a folder that belongs to another user, as with `sudo -E`;
 * one of root's counts as one's own. */
int home_may_make(struct fault *f);

/* Refuses a state folder of another user.  Root may look at it, but files that root made
 * in it would be closed to its user. */
int home_may_write(const char *path, struct fault *f);
/* home_may_write() for a folder that is open, so that its owner is known already. */
int home_check_owner(uid_t owner, const char *path, struct fault *f);

/* --- a new state, a whole one, a lost one ------------------------------------------------ */

/* Whether a folder is empty, or holds only what a killed `init` leaves, and at most the
 * file `also` (may be NULL). */
bool find_is_fresh(int dir, const char *also);

/* Checks that `cadre init` may make the state `path`: the path is free, is this user's
 * state, or is his folder with at most settings in it.  0 or a fault. */
int find_check_fresh(const char *path, struct fault *f);

/* Calls `each` for every entry of the folder `path`, open as `dir`, until it does not
 * return 0; a folder that cannot be listed to its end is a fault. */
int find_each_part(int dir, const char *path,
		   int (*each)(int dir, const char *path, const struct dirent *e,
			       struct fault *f),
		   struct fault *f);

/* Refuses a folder, open as `dir`, with an entry that is neither a file nor a folder: no
 * part of a state may lead elsewhere. */
int find_check_parts(int dir, const char *path, struct fault *f);

/* Whether the state in the folder `dir` was lost; `left` (may be NULL) gets the names
 * of what is still there. */
bool home_is_lost(const char *dir, char *left, size_t room);

/* Whether there is a state with data but without its secret.  A new secret would void the
 * tokens of all agents, so none is made unasked. */
bool home_lost_secret(const char *dir);

/* Fills a fault that says that the state was lost, and what to do. */
int home_refuse_lost(const char *dir, struct fault *f);

/* Makes the empty state.db of a new state, unless there is a state.db: 0 or a fault. */
int home_make_empty(const char *dir, struct fault *f);

/* Whether the folder `dir` has a state with data. */
bool home_has_data(const char *dir);

#endif
