/*
 * config_watch - a change of a configuration file, as a running host notices it.
 *
 * Most keys hold from the start of a process to its end.  log.level is read anew when the user's
 * file or the state's is another one than at the last look.
 */
#ifndef CORE_HOME_CONFIG_WATCH_H
#define CORE_HOME_CONFIG_WATCH_H

#include "core/home/home.h"

struct config_watch {
	struct config_stamp {
		int64_t ino, size, changed_at; /* all 0: there is no file */
	} seen[2];
};

/* Whether a file was changed since the last look; the first time, whether there is one. */
bool config_watch_look(struct config_watch *w, const struct home *h);
/* The level that files, variables and flags say now: 0 or a fault. */
int config_watch_level(const struct home *h, enum log_level *out, struct fault *f);

#endif
