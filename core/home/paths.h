/*
 * paths - small work on absolute paths and small files.
 */
#ifndef CORE_HOME_PATHS_H
#define CORE_HOME_PATHS_H

#include <stdbool.h>
#include <stddef.h>

/* `dir`/`name` (`dir` alone when the name is empty); false if it is too long. */
bool paths_join(char out[4096], const char *dir, const char *name);

/* Goes one folder up; false at the top. */
bool paths_up(char *dir);

/* The first line of a regular file, without its end; false when there is none. */
bool paths_line(const char *path, char *line, size_t room);

/* The user's home: $HOME, else what the password file says; false with neither. */
bool paths_home(char out[4096]);

/* $XDG_STATE_HOME/cadre, else ~/.local/state/cadre; false without a home. */
bool paths_user_state(char out[4096]);

/* The value of an environment variable; NULL when unset or empty. */
const char *paths_env(const char *name);

#endif
