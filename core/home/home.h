/*
 * home - the folder of a state, and the identity of this process.
 *
 * The state folder is $CADRE_HOME, else `.cadre/` of the project, else the user's state folder.
 * The project's folder is found upward through git's common directory, so that all worktrees
 * share it. The folder counts only if this user has made it in the project or trusts it
 * (core/home/home_trust.h). Inside a workspace there is no search upward: `dir` is empty and
 * $CADRE_SOCKET is the only door, unless $CADRE_HOME is set too.
 *
 * Sockets live in $XDG_RUNTIME_DIR/cadre/{id}/, else in a folder of this user (mode 0700) below
 * the temporary folder; {id} is made from the state folder's device and inode. A host writes
 * the path of its socket to host.lock, since other processes may have another environment than
 * the host.
 */
#ifndef CORE_HOME_HOME_H
#define CORE_HOME_HOME_H

#include <sys/types.h>

#include "core/call/call.h"
#include "core/machine/notes_disk.h"

/* The source of this process's identity. */
enum home_who {
	HOME_BY_DEFAULT, /* no identity is given: the operator, or nobody at a door for agents */
	HOME_BY_VARIABLE, /* CADRE_AGENT */
	HOME_BY_OPTION, /* the option --as or --operator of an operator */
	HOME_BY_PLACE, /* the identity that is kept for this directory */
	HOME_BY_SESSION, /* the identity that is kept for this client session in this
			    directory */
	HOME_BY_JOINING, /* the agent registered in this process */
};

struct home {
	char dir[4096]; /* the state folder, absolute */
	char run[108]; /* folder of the sockets */
	char socket[108]; /* the host's socket */
	char lock[4200]; /* lock file that a running host holds; names the host's pid */
	char vault[4200]; /* the vault's root */
	bool found; /* whether the folder was found upward, in a project */
	bool gone; /* state.db or secret is missing: only a restore may continue */
	char note[512]; /* a message for the user about the search, or "" */
	struct fault refused; /* why `dir` is empty, or no fault */
	struct notes_disk notes; /* the notes in the folder `vault` */
	struct team_folders folders; /* folders of the teams: see mirror_attend() */
	const char *const *flags; /* configuration flags, borrowed; NULL: no flags */
	struct settings settings;
	struct identity identity; /* from the environment or home_recall() */
	enum home_who who;
	char place[4096]; /* the directory for which an identity is kept: here.h */
	bool sure; /* the identity of this client session is kept */
	pid_t beside; /* process of another session of the same agent; 0: no such session */
	char texts[8192]; /* texts to which identity and settings point */
	size_t texts_used;
};

/* The purpose for which a state is sought. */
enum home_use {
	HOME_LOOK, /* reading only: root may read another user's state */
	HOME_WRITE, /* the state must exist and belong to this user */
	HOME_MAKE, /* an empty state with a secret (0600) is made, unless the state was lost */
};

/* Finds the state folder, reads its secret, the environment and the configuration. The struct
 * points into itself, so it must not be copied. The text of FAULT_NOT_FOUND names the folders
 * that were searched. */
int home_find(struct home *h, const char *dir, enum home_use use, struct fault *f);
/* Like home_find(), with configuration flags: texts `section.key=value`, with NULL at the end. */
int home_find_with(struct home *h, const char *dir, enum home_use use,
		   const char *const *flags, struct fault *f);

/* Reads the socket's path and the secret of the state that is in h->dir now. The caller is
 * about to open the state again. Returns 0 or a fault. */
int home_renew(struct home *h, struct fault *f);

/* Whether the vault is in the state's folder; a vault in another folder belongs to a person. */
bool home_owns_vault(const struct home *h);

/* The flags of store_open() that this user's rights allow. */
unsigned home_store_flags(const struct home *h);

/* Like home_find_with(), for `cadre init`. Makes the missing parts of the state, in this
 * directory's project unless a folder is named. Notes the state as made in that folder by this
 * user. */
int home_init(struct home *h, const char *dir, const char *const *flags, struct fault *f);

/* If no variable names this process's identity, takes the identity that is kept for the working
 * directory, if any. Returns a fault if that identity cannot be trusted, or if a variable names
 * another team. */
int home_recall(struct home *h, struct fault *f);

/* Sets this process's identity to an agent; copies the texts. */
int home_become(struct home *h, const char *team, const char *agent, const char *token,
		struct fault *f);

/* Returns 0 if an identity can be kept for this directory, or a fault. */
int home_can_keep(struct home *h, struct fault *f);

/* Keeps the agent as the identity of this directory. Without `over`, fails with `conflict` if
 * another agent is kept. */
int home_keep_here(struct home *h, const char *team, const char *agent, const char *token,
		   bool over, struct fault *f);

/* Keeps the agent as the identity of the client session that started this process, in this
 * directory. Without `over`, fails with `conflict` if another agent is kept for the session. */
int home_keep_session(struct home *h, const char *team, const char *agent,
		      const char *token, bool over, struct fault *f);
/* If this process has its identity by the directory alone, and no other session has it, keeps
 * the identity for this session. */
void home_begin_session(struct home *h);

/* Makes the folder of the sockets, or checks that the folder belongs to this user with mode
 * 0700. */
int home_make_run(const struct home *h, struct fault *f);

/* Removes the folder of the sockets if it is empty: a guest that still runs has its own folder
 * there. The caller holds the lock, so no host is about to use the folder. */
void home_leave_run(const struct home *h);

/* Removes the folder of the sockets with the sockets that guests left in it. Call this function
 * when the last guest has ended. Keeps the folder if a host has started meanwhile. */
void home_clear_run(struct home *h);

/* Removes the socket folders of other states beside this state's folder. A folder is removed if
 * no process listens at any socket in it and nothing was made in it for an hour. Such a folder
 * is left when its host or guests were killed and never restarted. */
void home_sweep_runs(const struct home *h);

/* Sets the folder and name of the socket to the folder and name that the last holder of the
 * lock used, if that folder still exists. The guests of that host have their sockets in that
 * folder. */
void home_keep_place(struct home *h, int lock);

/* Takes the host's lock and writes this process and its socket into the lock file. The socket
 * stays in the folder of the previous host if that folder exists, since guests look for the
 * socket there. Returns a descriptor; closing the descriptor releases the lock. A fault names
 * the holder. */
int home_hold(struct home *h, struct fault *f);

/* Makes the folder of the sockets anew for the running host that holds `lock`. The folder gets
 * its old path or, if that is impossible, the path that a new host would use. The lock file
 * then names that path. */
int home_settle_run(struct home *h, int lock, struct fault *f);

/* Takes the host's lock for a moment if it is free, without writing a holder into it. A host
 * that starts meanwhile waits. Returns the descriptor, or -1. */
int home_lock(const struct home *h);

/* Finds the path of the running host's socket. True: h->socket named another path, and now
 * names this user's socket at the found path. */
bool home_follow(struct home *h);

/* The number of the process that holds the host's lock and wrote this number into the lock
 * file; 0: there is no host. */
pid_t home_holder(const struct home *h);
/* Like home_holder(), for the state folder `dir`; used as settings.find_host. `*deaf`: the
 * host's socket is missing. */
int64_t home_host_of(const char *dir, bool *deaf);
/* Sets the folder and name of the socket from the present environment. */
int home_find_sockets(struct home *h, struct fault *f);

/* Copies a text into `h`, where it lives as long as `h`. NULL: there is no room. */
const char *home_keep(struct home *h, const char *text);

/* A random number from getrandom(). */
uint64_t home_random(void);

#endif
