/*
 * home_config - finds the files, variables and flags that configure this process.
 *
 * Files are read first, in this order: the user's file, the state folder's file, and the
 * project's file. The user's file is $XDG_CONFIG_HOME/cadre/cadre.toml, else
 * ~/.config/cadre/cadre.toml. The project's file is the nearest cadre.toml in or above the
 * working directory that belongs to the state's project. For each key the last file with that
 * key wins.
 *
 * A project's file may have come with a clone. So a project's file may set only keys that
 * concern the caller, and must not be a link. The file of another project is ignored. A file
 * that belongs neither to the user nor to root is ignored too. The environment is read after
 * the files, and the flags are read last: see core/config/config.h.
 */
#ifndef CORE_HOME_HOME_CONFIG_H
#define CORE_HOME_HOME_CONFIG_H

#include "core/config/config.h"
#include "core/home/home.h"

extern const char config_file_name[];
enum { CONFIG_FILE_MOST = 64 << 10 }; /* bytes; a larger file is refused */

/* Refuses a `cadre.toml` that sets more than a project's file may set. The file is in the
 * folder `dir`, which is about to become a state. */
int config_check_shipped(const char *dir, struct fault *f);

/* Whether a variable of the environment sets a key. */
bool config_is_variable(const char *name, size_t len);

/* `state` is the folder of the state, or NULL if there is no state. `flags` are texts
 * `section.key=value`, with NULL at the end; NULL: no flags. The caller passes an empty `s`,
 * which this function fills. The caller releases `s`, even after a fault. */
int config_load(struct config_set *s, const char *state, const char *const *flags,
		struct fault *f);

/* --- how a running host notices a change ----------------------------------------------- */

/* Most keys are read once, when a process starts. log.level is read anew when the user's file
 * or the state's file has changed since the last check. */
struct config_watch {
	struct config_stamp {
		int64_t ino, size, changed_at; /* all 0: there is no file */
	} seen[2];
};

/* Whether a file was changed since the last check. The first check returns whether there is a
 * file. */
bool config_watch_look(struct config_watch *w, const struct home *h);
/* Finds the log level that files, variables and flags set now. Returns 0 or a fault. */
int config_watch_level(const struct home *h, enum log_level *out, struct fault *f);

#endif
