/*
 * home - where a state lives, and who this process is.
 *
 * The state folder is $CADRE_HOME, else `.cadre/` of the project (found upward
 * through git's common directory, so that all worktrees share it; only one that
 * this user made there or trusts counts: core/home/home_trust.h), else the user's state
 * folder.  Inside a workspace nothing is searched upward: there
 * $CADRE_SOCKET is the only door unless $CADRE_HOME is said too, and `dir` is
 * empty.  Sockets live in $XDG_RUNTIME_DIR/cadre/{id}/, else in a 0700 folder
 * of the user's below the temporary folder; {id} is made from the state
 * folder's device and inode.  A host writes the path of its socket to host.lock, since
 * other processes may have another environment than the host.
 */
#ifndef CORE_HOME_HOME_H
#define CORE_HOME_HOME_H

#include <sys/types.h>

#include "core/call/call.h"
#include "core/machine/notes_disk.h"

/* The source of this process's identity. */
enum home_who {
	HOME_BY_DEFAULT, /* nothing says who: the operator, or nobody at a door for agents */
	HOME_BY_VARIABLE, /* CADRE_AGENT */
	HOME_BY_OPTION, /* an operator who says --as, or --operator */
	HOME_BY_PLACE, /* the identity that is kept for this directory */
	HOME_BY_SESSION, /* the identity that is kept for this client session in this
			    directory */
	HOME_BY_JOINING, /* it registered in this process */
};

struct home {
	char dir[4096]; /* the state folder, absolute */
	char run[108]; /* folder of the sockets */
	char socket[108]; /* the host's socket */
	char lock[4200]; /* held by the host while it runs; names its pid */
	char vault[4200]; /* the vault's root */
	bool found; /* whether the folder was found upward, in a project */
	bool gone; /* state.db or secret is missing: only a restore may go on */
	char note[512]; /* a message for the user about the search, or "" */
	struct fault refused; /* why `dir` is empty, for calls that are answered all
				 the same */
	struct notes_disk notes; /* the vault's notes, in that folder */
	struct team_folders folders; /* of its teams: see mirror_attend() */
	const char *const *flags; /* of the configuration, borrowed; NULL: none */
	struct settings settings;
	struct identity identity; /* from the environment, or home_recall() */
	enum home_who who;
	char place[4096]; /* the directory for which an identity is kept: here.h */
	bool sure; /* this session of a client is kept as who it is */
	pid_t beside; /* of another session that is kept as the same agent; 0: none */
	char texts[8192]; /* texts that identity and settings point to */
	size_t texts_used;
};

/* The purpose for which a state is sought. */
enum home_use {
	HOME_LOOK, /* root may look at another user's */
	HOME_WRITE, /* the state must be this user's, and there */
	HOME_MAKE, /* a missing state is made, empty, with its secret (0600); a lost state
		      is not made anew: see home_find.h */
};

/* Finds the state folder, reads its secret, the environment and the configuration.  The
 * struct points into itself: it is not copied.  FAULT_NOT_FOUND tells where it looked. */
int home_find(struct home *h, const char *dir, enum home_use use, struct fault *f);
/* home_find() with flags of the configuration, `section.key=value`, NULL at the end. */
int home_find_with(struct home *h, const char *dir, enum home_use use,
		   const char *const *flags, struct fault *f);

/* Reads the socket's place and the secret of the state that is at h->dir now, for a
 * process that is about to open the state again.  0 or a fault. */
int home_renew(struct home *h, struct fault *f);

/* Whether the vault is in the state's folder; one elsewhere is a person's. */
bool home_owns_vault(const struct home *h);

/* The flags of store_open() that this user's rights allow. */
unsigned home_store_flags(const struct home *h);

/* home_find_with() for `cadre init`: makes missing parts, in the project of this
 * directory unless a folder is named, and notes the state as made here by this user. */
int home_init(struct home *h, const char *dir, const char *const *flags, struct fault *f);

/* If no variable names this process's identity, takes the identity that is kept for the
 * working directory, if any.  A fault: that identity cannot be trusted, or another team
 * is named. */
int home_recall(struct home *h, struct fault *f);

/* Makes an agent this process's identity; the texts are copied. */
int home_become(struct home *h, const char *team, const char *agent, const char *token,
		struct fault *f);

/* 0 where an identity can be kept for this directory, or a fault. */
int home_can_keep(struct home *h, struct fault *f);

/* Keeps that this directory is the agent.  Unless `over`, another one that is kept is
 * `conflict`. */
int home_keep_here(struct home *h, const char *team, const char *agent, const char *token,
		   bool over, struct fault *f);

/* Keeps that the session of a client that has started this process is the agent, here.  Unless
 * `over`, another one that is kept for the session is `conflict`. */
int home_keep_session(struct home *h, const char *team, const char *agent,
		      const char *token, bool over, struct fault *f);
/* home_keep_session() of who this process is by its place alone, where no other session is. */
void home_begin_session(struct home *h);

/* Makes the folder of the sockets, or sees that it is ours and 0700. */
int home_make_run(const struct home *h, struct fault *f);

/* Removes the folder of the sockets if it is empty: a guest that still runs has its own
 * folder there.  The caller holds the lock, so that no host is about to use it. */
void home_leave_run(const struct home *h);

/* Removes that folder with the sockets that guests left in it, after the last of them has
 * ended; leaves it where a host has started meanwhile. */
void home_clear_run(struct home *h);

/* Removes such folders of other states, beside this one, where nobody listens at any
 * socket and nothing has been made for an hour: their hosts were killed, or their guests,
 * and nobody came back. */
void home_sweep_runs(const struct home *h);

/* Sets the folder and name of the socket to those of the host that had the lock last, while that
 * folder exists: its guests have theirs there. */
void home_keep_place(struct home *h, int lock);

/* Takes the host's lock and writes this process and its socket into it.  The socket
 * stays in the folder of the host before, while that exists, since guests look for it
 * there.  Returns the descriptor that holds the lock until it is closed; a fault names
 * the holder. */
int home_hold(struct home *h, struct fault *f);

/* Makes the folder of the sockets anew for a running host, whose `lock` it is: at its old path, or
 * if that is impossible, at the path that a new host would use.  The lock then names that path. */
int home_settle_run(struct home *h, int lock, struct fault *f);

/* Takes that lock where nobody has it, for a moment and without a name: a host that starts
 * meanwhile waits.  The descriptor, or -1. */
int home_lock(const struct home *h);

/* Looks where the running host has its socket: true when h->socket named another place,
 * and now names a socket of this user's there. */
bool home_follow(struct home *h);

/* The number of the host's process: the one that holds the lock and wrote itself into it;
 * 0 where there is none. */
pid_t home_holder(const struct home *h);
/* home_holder() of a state folder, for settings.find_host.  `*deaf`: its socket is not there. */
int64_t home_host_of(const char *dir, bool *deaf);
/* Sets the folder and name of the socket as the environment says them now. */
int home_find_sockets(struct home *h, struct fault *f);

/* A copy of a text that lives as long as `h`; NULL when there is no room. */
const char *home_keep(struct home *h, const char *text);

/* A number of this process's or thread's randomness, from getrandom(). */
uint64_t home_random(void);

#endif
