/*
 * sleeper - lets a thread of the host sleep. A commit of any process wakes the thread by the
 * bell. The end of the host also wakes the thread.
 */
#ifndef CORE_HOST_SLEEPER_H
#define CORE_HOST_SLEEPER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/base/fault.h"

struct sleeper {
	int bell, end; /* an inotify and an eventfd; -1: not open */
	atomic_bool ending;
};

/* Makes a sleeper for the state folder `home`. Returns 0 or a fault. sleeper_release() is
 * needed in either case. */
int sleeper_open(struct sleeper *s, const char *home, struct fault *f);
void sleeper_release(struct sleeper *s);

/* Wakes the thread for the last time; called by another thread. */
void sleeper_end(struct sleeper *s);
bool sleeper_ends(const struct sleeper *s);

/* Sleeps until a commit, the host's end, or `also` can be read (-1: unused); at most `ms`. */
void sleeper_sleep(struct sleeper *s, int also, int ms);
/* Sleeps as sleeper_sleep(), but commits do not end the sleep. */
void sleeper_rest(struct sleeper *s, int also, int ms);
/* Whether a transaction was committed since sleeper_heard(). */
bool sleeper_hears(const struct sleeper *s);
void sleeper_heard(struct sleeper *s);

#endif
