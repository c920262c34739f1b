/*
 * sleeper - how a thread of the host sleeps: until something was committed, here or in
 * another process (the bell rings), or until the host ends.
 */
#ifndef CORE_HOST_SLEEPER_H
#define CORE_HOST_SLEEPER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/base/fault.h"

struct sleeper {
	int bell, end; /* inotify, eventfd; -1: none */
	atomic_bool ending;
};

/* Makes it for the state folder `home`: 0 or a fault.  Released in either case. */
int sleeper_open(struct sleeper *s, const char *home, struct fault *f);
void sleeper_release(struct sleeper *s);

/* Wakes the thread for the last time; called by another thread. */
void sleeper_end(struct sleeper *s);
bool sleeper_ends(const struct sleeper *s);

/* Sleeps for `ms` at most, or until `also` can be read (-1: none). */
void sleeper_sleep(struct sleeper *s, int also, int ms);
/* The same, whatever was committed. */
void sleeper_rest(struct sleeper *s, int also, int ms);
/* Whether something was committed since sleeper_heard(). */
bool sleeper_hears(const struct sleeper *s);
void sleeper_heard(struct sleeper *s);

#endif
