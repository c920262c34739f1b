/*
 * here - which agent a directory is.
 *
 * An agent that registers in a worktree is that agent there from then on, whatever process
 * asks, with no variable.  The state keeps it in its folder `here` (0700), a file (0600) for
 * each place.  A place is the top of a worktree of git, outside of any the directory itself.
 * A place is identified by path, inode and time of birth.  A moved directory keeps its
 * agent; a new directory at an old path has no agent, nor has a copy.
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

/* Reads who `place` is in the state of the folder `state`: 1 with `out` filled, 0: nobody,
 * or a fault about a file that cannot be trusted. */
int here_read(const char *state, const char *place, struct here *out, struct fault *f);

/* here_read() of the place, else of what it lies in, up to the top of a worktree that
 * shares its repository with others: a repository or a folder inside the directory of an
 * agent is that agent's too.  `place` is then the one for which it is kept.  The agent of a
 * directory that was moved is recorded for the directory's new place. */
int here_find(const char *state, char place[4096], struct here *out, struct fault *f);

/* Keeps who a place is; sweeps what is of no place any more.  Unless `over`, another agent
 * that is kept for it is `conflict`, whichever of two processes came first.  0 or a fault. */
int here_write(const char *state, const struct here *k, bool over, struct fault *f);

/* A call under way by which a place is to become an agent's. */
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
/* Forgets the calls of a place that no process has settled. */
void here_give_up(const char *state, const char *place);

/* The sessions of clients in a place. */
struct here_sessions {
	pid_t own; /* the process that tells this one's session; 0: nothing is kept for it */
	struct here who; /* the agent of this session, where `own` is not 0 */
	bool differs; /* ... and not the place's own */
	pid_t other; /* of another session, which is the place's own agent; 0: none */
};

/* Finds those that live in the place of `place`, who is that place's agent. */
void here_sessions(const char *state, const struct here *place,
		   struct here_sessions *out);
/* Keeps who the session is that has started this process, in the place of `k`.  Unless `over`,
 * another agent that is kept for it is `conflict`.  0 or a fault. */
int here_session_keep(const char *state, const struct here *k, bool over,
		      struct fault *f);
/* Forgets who this session is in a place. */
void here_session_forget(const char *state, const char *place);

/* Forgets who `place` is, whatever the file holds: 1, 0: nothing was kept, or a fault. */
int here_forget(const char *state, const char *place, struct fault *f);

#endif
