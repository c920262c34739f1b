/*
 * users - the folder that is the user's own, whatever project is around.
 *
 * It holds the notes of known states (core/home/known.h), and the state that is used
 * outside of projects.  It is $XDG_STATE_HOME/cadre, else .local/state/cadre in $HOME,
 * else the same in the home that the password file names.
 */
#ifndef CORE_HOME_USERS_H
#define CORE_HOME_USERS_H

#include <sys/types.h>

#include "core/base/fault.h"

/* The path of the user's own state folder; a fault if the user's home is unknown. */
int users_folder(char out[4096], struct fault *f);

/* Refuses to make anything in a folder that belongs to another user, as with `sudo -E`;
 * one of root's counts as one's own. */
int users_may_make(struct fault *f);

/* Refuses a state folder of another user.  Root may look at it, but files that root made
 * in it would be closed to its user. */
int users_may_write(const char *path, struct fault *f);
/* users_may_write() for a folder that is open, so that its owner is known already. */
int users_check_owner(uid_t owner, const char *path, struct fault *f);

#endif
