/*
 * found - the state of the project around the working directory.
 *
 * A `.cadre` found upward is not trusted until it is known: it may have come with a
 * clone.  A `.cadre` counts only if this user made or trusted the folder here
 * (core/home/known.h), and the folder's database is still the same
 * (core/home/state_id.h).  Besides, git must have tracked no file in the folder, or the
 * same files as when the user trusted the folder.  A state that does not count is passed
 * over, so that it hides no state further up; if no state is further up, the passed one
 * is refused.  A `.cadre` without `state.db` is no state unless it is known, or holds a
 * restore that was interrupted.
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
	FOUND_UNNOTED, /* as FOUND_TRACKED, and the note of it cannot be written */
	FOUND_WAS_TRACKED, /* git tracked a file in the folder earlier */
	FOUND_CHANGED, /* git tracks other things in it, or its settings are others,
			  than when it was trusted */
	FOUND_EDITED, /* the settings have changed since the folder was made */
	FOUND_OTHER, /* another database is in its place */
	FOUND_NO_INDEX, /* the files that git tracks cannot be read */
	FOUND_STRAY, /* of a repository that does not know this worktree */
};

struct found {
	char path[4096]; /* the state folder that counts, or "" */
	char passed[4096]; /* the nearest state folder that does not count, or "" */
	enum found_why why; /* why `passed` does not count */
};

/* Searches from `dir`, absolute and without links, upward; judges each .cadre as
 * below. */
void found_upward(struct found *out, const char *dir);

/* Whether the folder `path` counts.  Records three facts: that git tracks a file in the
 * folder (for good; FOUND_UNNOTED if the record fails), the present database if the
 * folder's id names no database, and the notes of known_look(). */
enum found_why found_judge(const char *path);

/* Refuses a state folder: says why it does not count, and what to do. */
int found_refuse(const char *path, enum found_why why, struct fault *f);

/* Says in one line, without a newline, that `passed` is passed over for `path`. */
void found_say(const struct found *x, char *line, size_t room);

/* The place of a new state for the project around `dir`: in its repository, else in
 * `dir`.  `stray`: a state counts there, but belongs to a repository that does not know
 * this worktree.  False if the path is too long, or with a fault of the file of known
 * states. */
bool found_place(const char *dir, char out[4096], bool *stray, struct fault *f);

/* Whether a file in `dir` is of the project whose state is the folder `state`:
 * no other repository and no other state is in between. */
bool found_is_of(const char *dir, const char *state);

/* Whether a folder has a state; whether it is empty, or holds only what a killed `init`
 * leaves, and at most the file `also` (may be NULL). */
bool found_has_state(int dir);
bool found_is_fresh(int dir, const char *also);

/* Whether the file `state.db` of a state is missing. */
bool found_is_gone(const char *path);

/* Opens a state folder that is not itself a link: a descriptor, or -1 with errno. */
int found_open(const char *path);

/* Calls `each` for every entry of the folder `path`, open as `dir`, until it does not
 * return 0; a folder that cannot be listed to its end is a fault. */
int found_each_part(int dir, const char *path,
		    int (*each)(int dir, const char *path, const struct dirent *e,
				struct fault *f),
		    struct fault *f);

/* Refuses a folder, open as `dir`, with an entry that is neither a file nor a folder: no
 * part of a state may lead elsewhere. */
int found_check_parts(int dir, const char *path, struct fault *f);

#endif
