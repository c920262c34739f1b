/*
 * here - which agent works in a directory.
 *
 * An agent that registers in a worktree is that agent there from then on, whatever process
 * asks, with no variable.  The state keeps it in its folder `here` (0700), a file (0600) for
 * each place.  A place is the top of a worktree of git, outside of any the directory itself.
 * The file is named after the place's inode and time of birth, so it goes where the directory
 * goes: a moved directory keeps its agent; a new directory at an old path has no agent, nor
 * has a copy.  Where the file system keeps no times of birth, the file is named after the
 * path, and no moved directory is recognized: a file system gives an inode to another
 * directory sooner or later.  A token is not kept in the worktree, or in git's folder for the
 * worktree, since copies and archives take those along.
 *
 *     HASH              the agent of a place; HASH is of the birth, or the path
 *     HASH.THREAD       the file HASH, while it is written
 *     HASH.gone         the file HASH of a directory that was not found where it had been
 *     HASH.NUMBER.key   a call by which a place is to become an agent's; HASH is of the path
 *     HASH.PID.session  the agent of a client session in a place; PID is of the session
 *
 * A file that others could have written is refused, and not passed over: an agent must not
 * silently become the operator.
 */
#ifndef CORE_HOME_HERE_H
#define CORE_HOME_HERE_H

#include <stdbool.h>

#include <sys/types.h>

#include "core/base/fault.h"

enum { HERE_SUM = 65 };

struct here {
	char place[4096]; /* without links */
	char team[72], agent[72], token[72];
};

/* Whether a folder is the top of a worktree of git. */
bool here_is_top(const char *dir);
/* The place of the working directory; false where that cannot be told. */
bool here_place(char out[4096]);
/* The place of a folder, absolute and without links. */
void here_place_of(const char *here, char out[4096]);

/* Finds the agent of `place` in the state of the folder `state`, else the agent of the
 * directory around it, up to the top of a worktree that shares its repository with others: a
 * repository or a folder inside the directory of an agent is that agent's too.  1 with `out`
 * filled, and `place` the directory for which the agent is kept; 0: nobody; or a fault about
 * a file that cannot be trusted. */
int here_find(const char *state, char place[4096], struct here *out, struct fault *f);

/* A call under way by which a place is to become an agent's.  Its file has its key, and its
 * process locks the file.  An unlocked file means that the process was killed; a locked file
 * means that the process still lives, so that two sessions of a place are two agents. */
struct here_call {
	bool held; /* its file is this process's */
	int fd;
	char file[56], sum[HERE_SUM];
	char key[37]; /* its idempotency key */
};

/* Gives such a call its idempotency key.  A process may have ended, as after kill -9,
 * before it settled a call from `place` with the same `words`.  Then the key of that call
 * is used again; else a new key is made and kept.  The same words again, before `c` is
 * settled, are the same call; `c` is zeros at first.  0 or a fault. */
int here_begin(const char *state, const char *place, const char *words,
	       struct here_call *c, struct fault *f);
/* The call was answered. */
void here_settle(const char *state, struct here_call *c);

/* The sessions of clients in a place.  A client starts its server of MCP, its hooks and its
 * shells, so the process that started the one tells the session of the others. */
struct here_sessions {
	pid_t own; /* the process that tells this one's session; 0: nothing is kept for it */
	struct here who; /* the agent of this session, where `own` is not 0 */
	bool differs; /* ... and not the place's own */
	pid_t other; /* of another session, which is the place's own agent; 0: none */
};

/* Finds those that live in the place of `place`, who is that place's agent. */
void here_sessions(const char *state, const struct here *place,
		   struct here_sessions *out);
/* Forgets who this session is in a place. */
void here_session_forget(const char *state, const char *place);

/* Forgets who `place` is, whatever the files hold: 1, 0: nothing was kept, or a fault. */
int here_forget(const char *state, const char *place, struct fault *f);

#endif
