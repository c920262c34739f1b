/*
 * sleeper - lets a thread of the host sleep. A commit of any process writes the bell, which
 * wakes the thread. The end of the host also wakes the thread.
 */
#ifndef CORE_HOST_SLEEPER_H
#define CORE_HOST_SLEEPER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/base/fault.h"

struct sleeper {
	int bell, end; /* `bell`: an inotify; `end`: an eventfd; -1: not open */
	atomic_bool ending;
};

/* Makes a sleeper for the state folder `home`. Returns 0 or a fault. sleeper_release() has to
 * be called even after a fault. */
int sleeper_open(struct sleeper *s, const char *home, struct fault *f);
void sleeper_release(struct sleeper *s);

/* Wakes the thread for the last time. Called by another thread. */
void sleeper_end(struct sleeper *s);
bool sleeper_ends(const struct sleeper *s);

/* Sleeps for at most `ms`. A commit, sleeper_end(), or bytes at the descriptor `also` end the
 * sleep earlier. `also` -1: unused. */
void sleeper_sleep(struct sleeper *s, int also, int ms);
/* Does the same as sleeper_sleep(), but a commit does not end the sleep. */
void sleeper_rest(struct sleeper *s, int also, int ms);
/* Whether a transaction was committed since sleeper_heard(). */
bool sleeper_hears(const struct sleeper *s);
void sleeper_heard(struct sleeper *s);

#endif
