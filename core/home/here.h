/*
 * here - which agent works in a directory.
 *
 * After an agent has registered in a worktree, every process in that worktree acts as the
 * agent, without any environment variable. The state's folder `here` (0700) has a file (0600)
 * for each place. A place is the top of a worktree of git, or any directory outside of
 * worktrees. A place's file is named after the inode and time of birth of the place, so a moved
 * directory keeps its agent. A new directory at an old path has no agent, and a copy of a
 * directory has no agent. If the file system keeps no times of birth, a place's file is named
 * after the path, and a moved directory is not recognized. An inode alone does not identify a
 * directory, since a file system reuses inodes. A token is kept neither in the worktree nor in
 * git's folder for the worktree, since copies and archives would contain the token.
 *
 *     HASH              the agent of a place; HASH is made from the birth or the path
 *     HASH.THREAD       the new version of the file HASH, until the version is complete
 *     HASH.gone         the file HASH of a directory that is missing at its old path
 *     HASH.NUMBER.key   a call that gives a place an agent; HASH is made from the path
 *     HASH.PID.session  the agent of a client session in a place; PID is the session's process
 *
 * A file that others could have written is refused. If cadre only ignored a file that others
 * could have written, an agent would silently become the operator.
 */
#ifndef CORE_HOME_HERE_H
#define CORE_HOME_HERE_H

#include <stdbool.h>

#include <sys/types.h>

#include "core/base/fault.h"

enum { HERE_SUM = 65 };

struct here {
	char place[4096]; /* path of the directory, without links */
	char team[72], agent[72], token[72];
};

/* Whether a folder is the top of a worktree of git. */
bool here_is_top(const char *dir);
/* Writes the place of the working directory to `out`. Returns false if the place cannot be
 * found. */
bool here_place(char out[4096]);
/* Writes the place of the folder `here` to `out`; `here` is an absolute path without links. */
void here_place_of(const char *here, char out[4096]);

/* Finds the agent of `place` in the state of the folder `state`. If `place` has no agent,
 * searches the folders above `place`. The search ends at the top of a linked worktree (made by
 * `git worktree add`). So a repository or a folder inside an agent's directory has the same
 * agent.
 *
 * Returns 1 with `out` filled, and sets `place` to the directory for which the agent is kept.
 * Returns 0 if there is no agent, or a fault if a file cannot be trusted. */
int here_find(const char *state, char place[4096], struct here *out, struct fault *f);

/* A running call that gives a place an agent. The file of the call holds the call's key, and
 * the calling process locks the file. An unlocked file means that the process was killed. A
 * locked file means that the process still lives. So two sessions that run in a place at once
 * get two keys and become two agents. */
struct here_call {
	bool held; /* this process holds the lock of the file */
	int fd;
	char file[56], sum[HERE_SUM];
	char key[37]; /* the call's idempotency key */
};

/* Gives the call `c` an idempotency key. If a process was killed before it settled a call from
 * `place` with the same `words`, the key of that earlier call is used again. If no process was
 * killed in this way, a new key is made. The key is stored if the place has a free file.
 *
 * `c` must be zeroed before its first use. Until `c` is settled, the same words mean the same
 * call. Returns 0 or a fault. */
int here_begin(const char *state, const char *place, const char *words,
	       struct here_call *c, struct fault *f);
/* Removes the file of a call that was answered. */
void here_settle(const char *state, struct here_call *c);

/* The sessions of clients in a place. The MCP server, the hooks and the shells that a client
 * starts find the session by the client's process. */
struct here_sessions {
	pid_t own; /* process number in the name of this session's file; 0: no file */
	struct here who; /* the agent of this session, if `own` is not 0 */
	bool differs; /* `who` is not the agent of the place */
	pid_t other; /* process of another session with the same agent, or 0 */
};

/* Finds the live sessions in the directory place->place. `place` also names the agent of that
 * directory. */
void here_sessions(const char *state, const struct here *place,
		   struct here_sessions *out);
/* Removes the agent that is kept for this session in a place. */
void here_session_forget(const char *state, const char *place);

/* Removes the agent that is kept for `place`, even if the agent's file cannot be trusted.
 * Returns 1 if an agent was removed, 0 if no agent was kept, or a fault. */
int here_forget(const char *state, const char *place, struct fault *f);

#endif
