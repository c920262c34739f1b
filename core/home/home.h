/*
 * home - the folder of a state, and the identity of this process.
 *
 * The state folder is $CADRE_HOME, else `.cadre/` of the project, else the user's state folder.
 * The search for the project's `.cadre/` goes upward from the working directory and through
 * git's common directory, so that all worktrees share one state. A project's `.cadre/` counts
 * only if this user has made this folder in the project, or trusts the folder
 * (core/home/home_trust.h). Inside a workspace there is no search upward. The member `dir` is
 * empty inside a workspace, and $CADRE_SOCKET is the only door, unless $CADRE_HOME is set too.
 *
 * The sockets are in $XDG_RUNTIME_DIR/cadre/{id}/, else in a folder of this user (mode 0700)
 * below the temporary folder. The {id} is made from the state folder's device and inode. A host
 * writes the path of its socket to host.lock, since other processes may have another
 * environment than the host.
 */
#ifndef CORE_HOME_HOME_H
#define CORE_HOME_HOME_H

#include <sys/types.h>

#include "core/call/call.h"
#include "core/machine/notes_disk.h"

/* The source of this process's identity. */
enum home_who {
	HOME_BY_DEFAULT, /* no identity: the process acts as the operator or, at a door
			    for agents, as a caller without an identity */
	HOME_BY_VARIABLE, /* CADRE_AGENT */
	HOME_BY_OPTION, /* an operator gave the option --as or --operator */
	HOME_BY_PLACE, /* the identity that is kept for this directory */
	HOME_BY_SESSION, /* the identity kept for this client session in this directory */
	HOME_BY_JOINING, /* this process has registered the agent */
};

struct home {
	char dir[4096]; /* the state folder, absolute */
	char run[108]; /* folder of the sockets */
	char socket[108]; /* the host's socket */
	char lock[4200]; /* lock file, which a running host locks; holds the host's pid */
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
	char place[4096]; /* directory for which an identity is kept: see here.h */
	bool sure; /* the identity of this client session is kept */
	pid_t beside; /* process of another session of the same agent, or 0 */
	char texts[8192]; /* texts to which identity and settings point */
	size_t texts_used;
};

/* The purpose for which a state is sought. */
enum home_use {
	HOME_LOOK, /* reading only: root may read another user's state */
	HOME_WRITE, /* the state must exist and belong to this user */
	HOME_MAKE, /* makes a new state with a secret (0600), unless the state was lost */
};

/* Finds the state folder, reads its secret, the environment and the configuration. A struct
 * home has pointers into itself, so a struct home must not be copied. The text of
 * FAULT_NOT_FOUND names the folders that were searched. */
int home_find(struct home *h, const char *dir, enum home_use use, struct fault *f);
/* Does the same as home_find(), with configuration flags. `flags` are texts
 * `section.key=value`, with NULL at the end. */
int home_find_with(struct home *h, const char *dir, enum home_use use,
		   const char *const *flags, struct fault *f);

/* Reads the socket's path and the secret of the state that is in h->dir now. The caller is
 * about to open the state again. Returns 0 or a fault. */
int home_renew(struct home *h, struct fault *f);

/* Whether the vault is in the state's folder. A vault in another folder belongs to a person. */
bool home_owns_vault(const struct home *h);

/* The flags of store_open() that this user's rights allow. */
unsigned home_store_flags(const struct home *h);

/* Does the same as home_find_with(), for `cadre init`. Makes the missing parts of the state, in
 * this directory's project unless a folder is named. Adds a note that this user made the state
 * in its folder. */
int home_init(struct home *h, const char *dir, const char *const *flags, struct fault *f);

/* If no variable names this process's identity, takes the identity that is kept for the working
 * directory, if any. Returns a fault if that identity cannot be trusted, or if a variable names
 * another team. */
int home_recall(struct home *h, struct fault *f);

/* Sets this process's identity to an agent, and copies the texts. */
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
/* If this process has its identity only from the directory, and no other session has the same
 * identity, keeps the identity for this session. */
void home_begin_session(struct home *h);

/* Makes the folder of the sockets with mode 0700. An existing folder must belong to this user,
 * and gets mode 0700. */
int home_make_run(const struct home *h, struct fault *f);

/* Removes the folder of the sockets if the folder is empty. A guest that still runs has its own
 * folder in the folder of the sockets. The caller holds the lock, so no host is about to use
 * the folder. */
void home_leave_run(const struct home *h);

/* Removes the folder of the sockets, and the sockets that guests left in the folder. Call this
 * function when the last guest has ended. Keeps the folder if a host has started meanwhile. */
void home_clear_run(struct home *h);

/* Removes unused socket folders of other states from the parent folder of this state's socket
 * folder. A folder is removed if no process listens at a socket in the folder, and nothing was
 * made in the folder for an hour. A host or guest that was killed and never restarted leaves a
 * socket folder. */
void home_sweep_runs(const struct home *h);

/* If the socket folder of the last holder of the lock still exists, uses the holder's folder
 * and socket name. The guests of the last holder have their sockets in the last holder's
 * folder. */
void home_keep_place(struct home *h, int lock);

/* Takes the host's lock and writes this process and its socket into the lock file. The socket
 * stays in the folder of the previous host if that folder exists, since guests look for the
 * socket there. Returns a descriptor; closing the descriptor releases the lock. A fault names
 * the holder. */
int home_hold(struct home *h, struct fault *f);

/* Makes the folder of the sockets anew for the running host that holds `lock`. The folder gets
 * its old path or, if that is impossible, the path that a new host would use. The lock file
 * then names the new folder's path. */
int home_settle_run(struct home *h, int lock, struct fault *f);

/* Takes the host's lock for a moment if the lock is free, without writing a holder into the
 * lock file. A host that starts meanwhile waits. Returns the descriptor, or -1. */
int home_lock(const struct home *h);

/* Finds the path of the running host's socket. If h->socket names another path, and a socket of
 * this user or of root is at the found path, sets h->socket and returns true. */
bool home_follow(struct home *h);

/* Returns the number of the process that holds the host's lock and wrote this number into the
 * lock file. Returns 0 if there is no host. */
pid_t home_holder(const struct home *h);
/* Does the same as home_holder(), for the state folder `dir`. This function is used as
 * settings.find_host. `*deaf` says whether the host's socket is missing. */
int64_t home_host_of(const char *dir, bool *deaf);
/* Sets the folder and name of the socket from the present environment. */
int home_find_sockets(struct home *h, struct fault *f);

/* Copies a text into `h`, where the copy lives as long as `h`. Returns NULL if there is no
 * room. */
const char *home_keep(struct home *h, const char *text);

/* Returns a random number from getrandom(). */
uint64_t home_random(void);

#endif
