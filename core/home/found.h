/*
 * found - the state of the project around the working directory.
 *
 * A `.cadre` found upward is not trusted until it is known: it may have come with a
 * clone.  It counts only if it is a folder that this user made here or trusts
 * (core/home/known.h), its database is the one that was there then
 * (core/home/state_id.h), and git has tracked nothing in it, or what it tracked when
 * the user trusted it.  One that does not count is passed over, so that it hides no
 * state further up; where there is none, it is refused.  A `.cadre` without `state.db`
 * is no state unless it is known, or holds a restore that was interrupted.
 */
#ifndef CORE_HOME_FOUND_H
#define CORE_HOME_FOUND_H

#include <dirent.h>
#include <stddef.h>

#include "core/home/known.h"

enum found_why {
	FOUND_NONE, /* there is no state */
	FOUND_COUNTS,
	FOUND_UNKNOWN, /* neither made here nor trusted */
	FOUND_LINK,
	FOUND_FOREIGN, /* another user's */
	FOUND_TRACKED, /* git tracks something in it */
	FOUND_UNNOTED, /* the same, and the note of it cannot be written */
	FOUND_WAS_TRACKED, /* git did so once */
	FOUND_CHANGED, /* git tracks other things in it, or its settings are others, than
			* when it was trusted */
	FOUND_EDITED, /* its settings are others than when it was made */
	FOUND_OTHER, /* another database is in its place */
	FOUND_NO_INDEX, /* what git tracks cannot be read */
	FOUND_STRAY, /* of a repository that does not know this worktree */
};

struct found {
	char path[4096]; /* what counts, or "" */
	char passed[4096]; /* the nearest that does not count, or "" */
	enum found_why why; /* why `passed` does not count */
};

/* Looks from `dir`, absolute and without links, upward; each is judged as below. */
void found_upward(struct found *out, const char *dir);

/* Whether the folder `path` counts.  What is seen is also written down: that git tracks
 * something in it (for good; FOUND_UNNOTED if that fails), which database is there if its
 * id names none, and what known_look() notes. */
enum found_why found_judge(const char *path);

/* Says why one does not, and what to do. */
int found_refuse(const char *path, enum found_why why, struct fault *f);

/* Says in one line, without a newline, that `passed` is passed over for `path`. */
void found_say(const struct found *x, char *line, size_t room);

/* The place of a new state for what `dir` is in: of the repository, else there.  `stray`:
 * a state counts there, but is of a repository that does not know this worktree.  False
 * if that is too long, or with a fault of what is known. */
bool found_place(const char *dir, char out[4096], bool *stray, struct fault *f);

/* Whether a file in `dir` is of the project whose state is the folder `state`:
 * no other repository and no other state is in between. */
bool found_is_of(const char *dir, const char *state);

/* Whether a folder has a state; whether it holds nothing, or what an `init` that was
 * killed leaves, and at most the file `also` (may be NULL) besides. */
bool found_has_state(int dir);
bool found_is_fresh(int dir, const char *also);

/* Whether `state.db` of a state is not there. */
bool found_is_gone(const char *path);

/* Opens a state folder that is no link itself: -1 with errno. */
int found_open(const char *path);

/* Calls `each` for all that is in the folder `path`, open as `dir`, until it does not
 * return 0; a folder that cannot be listed to its end is a fault. */
int found_each_part(int dir, const char *path,
		    int (*each)(int dir, const char *path, const struct dirent *e,
				struct fault *f),
		    struct fault *f);

/* Refuses a folder, open as `dir`, in which anything is neither a file nor a
 * folder: no part of a state leads elsewhere. */
int found_check_parts(int dir, const char *path, struct fault *f);

#endif
