/*
 * paths - helpers for absolute paths and for small files.
 */
#ifndef CORE_HOME_PATHS_H
#define CORE_HOME_PATHS_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Writes `dir`/`name` to `out`, or `dir` alone if the name is empty. Returns false if the path
 * is too long. */
bool paths_join(char out[4096], const char *dir, const char *name);

/* Removes the last name of a path. Returns false if the path has no name to remove. */
bool paths_up(char *dir);

/* Whether `path` is the folder `dir`, or lies in it. */
bool paths_is_in(const char *path, const char *dir);

/* Writes the user's home to `out`: $HOME, else the home in the password file. Returns false if
 * the user has no home. */
bool paths_home(char out[4096]);

/* Writes $XDG_STATE_HOME/cadre, else ~/.local/state/cadre, to `out`. Returns false if the user
 * has no home. */
bool paths_user_state(char out[4096]);

/* Returns the value of an environment variable, or NULL if the variable is unset or empty. */
const char *paths_env(const char *name);

/* --- small files; `dir` is an open folder, or AT_FDCWD ------------------------------- */

/* Reads a regular file into `text`, with at most `room` - 1 bytes and a NUL. Returns the text's
 * length, or -1. `flags` are O_NOFOLLOW or 0; `st` may be NULL. */
ssize_t paths_read(int dir, const char *name, int flags, char *text, size_t room,
		   struct stat *st);

/* Reads the first line of a regular file, without the line end. Returns false if there is no
 * such file or line. */
bool paths_line(const char *path, char *line, size_t room);

/* Replaces the file `name` by a file with mode 0600 that belongs to the folder's owner. The new
 * file is called `temp` until it is complete and on the disk. Returns 0, or -1 with errno. */
int paths_write(int dir, const char *temp, const char *name, const char *bytes, size_t n);

/* Opens a folder again to list its names. Returns NULL if the folder cannot be opened. */
DIR *paths_list(int dir);

enum { PATHS_BIRTH = 64 };

/* Writes the inode and time of birth of a file or folder to `out`. A copy of the file differs
 * from the file in inode or birth. If `name` is "", the file is `dir` itself. If the file
 * system keeps no time of birth, `untimed` takes the place of the time. If `untimed` is NULL
 * too, `out` becomes "". Returns the file's mode. If the file does not exist, returns 0, and
 * `out` becomes "". */
mode_t paths_birth(int dir, const char *name, const char *untimed, char out[PATHS_BIRTH]);

#endif
