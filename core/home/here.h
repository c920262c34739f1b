/*
 * here - which agent works in a directory.
 *
 * After an agent has registered in a worktree, every process in that worktree acts as the
 * agent, without any variable. The state's folder `here` (0700) has a file (0600) for each
 * place. A place is the top of a worktree of git; outside of worktrees it is the directory
 * itself. The file is named after the place's inode and time of birth, so a moved directory
 * keeps its agent. A new directory at an old path has no agent, and a copy has no agent. If the
 * file system keeps no times of birth, the file is named after the path, and a moved directory
 * is not recognized. The inode alone would not be enough, since a file system reuses inodes. A
 * token is not kept in the worktree, or in git's folder for the worktree, since copies and
 * archives would contain the token.
 *
 *     HASH              the agent of a place; HASH is made from the birth or the path
 *     HASH.THREAD       the file HASH, while it is written
 *     HASH.gone         the file HASH of a directory that is missing at its old path
 *     HASH.NUMBER.key   a call that gives a place an agent; HASH is made from the path
 *     HASH.PID.session  the agent of a client session in a place; PID is the session's process
 *
 * A file that others could have written is refused. If the file were ignored, an agent would
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
/* The place of the working directory; false if the place cannot be found. */
bool here_place(char out[4096]);
/* The place of a folder, absolute and without links. */
void here_place_of(const char *here, char out[4096]);

/* Finds the agent of `place` in the state of the folder `state`. If `place` has no agent,
 * searches the directories above, up to the top of a worktree that shares its repository with
 * others. So a repository or a folder inside an agent's directory belongs to that agent too.
 *
 * Returns 1 with `out` filled, and sets `place` to the directory for which the agent is kept.
 * Returns 0 if there is no agent, or a fault about a file that cannot be trusted. */
int here_find(const char *state, char place[4096], struct here *out, struct fault *f);

/* A running call that gives a place an agent. The call's file holds its key, and the calling
 * process locks the file. An unlocked file means that the process was killed; a locked file
 * means that the process still lives. So two sessions of a place get two keys and become two
 * agents. */
struct here_call {
	bool held; /* this process holds the lock of the file */
	int fd;
	char file[56], sum[HERE_SUM];
	char key[37]; /* the call's idempotency key */
};

/* Gives the call `c` an idempotency key. A process may have been killed before it settled a
 * call from `place` with the same `words`. In that case the key of the earlier call is used
 * again. Otherwise a new key is made and kept.
 *
 * `c` is zeros at first. Before `c` is settled, the same words mean the same call. Returns 0 or
 * a fault. */
int here_begin(const char *state, const char *place, const char *words,
	       struct here_call *c, struct fault *f);
/* Removes the file of a call that was answered. */
void here_settle(const char *state, struct here_call *c);

/* The sessions of clients in a place. A client starts its server of MCP, its hooks and its
 * shells, so all of them find the session by the client's process. */
struct here_sessions {
	pid_t own; /* the process that this session's file names; 0: there is no file */
	struct here who; /* the agent of this session, if `own` is not 0 */
	bool differs; /* `who` is another agent than the place's */
	pid_t other; /* process of another session with the place's agent; 0: no such session */
};

/* Finds the live sessions in the directory place->place. `place` also names the agent of that
 * directory. */
void here_sessions(const char *state, const struct here *place,
		   struct here_sessions *out);
/* Removes the agent that is kept for this session in a place. */
void here_session_forget(const char *state, const char *place);

/* Removes the agent that is kept for `place`, even if the agent's file cannot be trusted.
 * Returns 1, or 0 if no agent was kept, or a fault. */
int here_forget(const char *state, const char *place, struct fault *f);

#endif
