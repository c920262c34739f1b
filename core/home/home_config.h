/*
 * home_config - finds the files, variables and flags that configure this process.
 *
 * Files first: the user's file ($XDG_CONFIG_HOME/cadre/cadre.toml, else
 * ~/.config/cadre/cadre.toml), the state folder's file, and the nearest file from the
 * working directory upward in the state's project.  The later wins, key by key.  A
 * project's file may have come with a clone: it sets only what concerns the caller, and
 * is no link; one of another project counts for nothing.  A file that is neither the
 * user's nor root's is passed over.  Then the environment is read, then flags: see
 * core/config/config.h.
 */
#ifndef CORE_HOME_HOME_CONFIG_H
#define CORE_HOME_HOME_CONFIG_H

#include "core/config/config.h"
#include "core/home/home.h"

extern const char config_file_name[];
enum { CONFIG_FILE_MOST = 64 << 10 }; /* bytes; a larger one is refused */

/* Refuses a `cadre.toml` in the folder `dir`, which is about to become a state, that sets
 * more than a project's file may. */
int config_check_shipped(const char *dir, struct fault *f);

/* Whether a variable of the environment sets a key. */
bool config_is_variable(const char *name, size_t len);

/* `state` is the folder of the state, NULL where there is none.  `flags` are texts
 * `section.key=value` that end with a NULL; NULL: none.  Fills `s`, which is empty
 * and in any case the caller's to release. */
int config_load(struct config_set *s, const char *state, const char *const *flags,
		struct fault *f);

/* --- a change, as a running host notices it -------------------------------------------- */

/* Most keys hold from the start of a process to its end.  log.level is read anew when the user's
 * file or the state's is another one than at the last look. */
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
