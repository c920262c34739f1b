/*
 * home - where a state lives, and who this process is.
 *
 * The state folder is $CADRE_HOME, else `.cadre/` of the project (found upward
 * through git's common directory, so that all worktrees share it), else the
 * user's state folder.  Inside a workspace nothing is searched upward.
 * Sockets live in $XDG_RUNTIME_DIR/cadre/{id}/, else in a 0700 folder of the
 * user's below the temporary folder; {id} is made from the state folder's
 * device and inode.
 */
#ifndef HOME_H
#define HOME_H

#include "core/call.h"

struct home {
	char dir[4096];    /* the state folder, absolute */
	char run[108];     /* folder of the sockets */
	char socket[108];  /* the host's socket */
	char lock[4200];   /* held by the host while it runs; names its pid */
	char vault[4200];  /* the vault's root */
	struct settings settings;
	struct identity identity; /* from the environment */
	char texts[1024];         /* behind identity's and settings' pointers */
};

/* Finds the state folder (made if `create`), reads its secret (made 0600 on
 * first use), the environment and cadre.toml's keys that exist. */
int home_find(struct home *h, const char *dir, bool create, struct fault *f);

/* A number of this process's or thread's randomness, from getrandom(). */
uint64_t home_random(void);
int64_t home_now(void); /* ms since the epoch */

#endif
