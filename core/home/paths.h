/*
 * paths - small work on absolute paths and small files.
 */
#ifndef CORE_HOME_PATHS_H
#define CORE_HOME_PATHS_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Writes `dir`/`name` to `out` (`dir` alone if the name is empty); false if the path is too
 * long. */
bool paths_join(char out[4096], const char *dir, const char *name);

/* Removes the last name of a path; false at the top. */
bool paths_up(char *dir);

/* Whether `path` is the folder `dir`, or lies in it. */
bool paths_is_in(const char *path, const char *dir);

/* The user's home: $HOME, else the home in the password file; false if there is no home. */
bool paths_home(char out[4096]);

/* $XDG_STATE_HOME/cadre, else ~/.local/state/cadre; false if the user has no home. */
bool paths_user_state(char out[4096]);

/* The value of an environment variable; NULL when unset or empty. */
const char *paths_env(const char *name);

/* --- small files; `dir` is an open folder, or AT_FDCWD ------------------------------- */

/* Reads a regular file into a text of less than `room` bytes. Returns the text's length, or -1.
 * `flags` are O_NOFOLLOW or 0; `st` may be NULL. */
ssize_t paths_read(int dir, const char *name, int flags, char *text, size_t room,
		   struct stat *st);

/* Reads the first line of a regular file, without the line end; false if there is no such file
 * or line. */
bool paths_line(const char *path, char *line, size_t room);

/* Replaces the file `name` by a file with mode 0600 that belongs to the folder's owner. The new
 * file is called `temp` until it is complete and on the disk. Returns 0, or -1 with errno. */
int paths_write(int dir, const char *temp, const char *name, const char *bytes, size_t n);

/* Opens a folder again to list its names. Returns NULL if the folder cannot be opened. */
DIR *paths_list(int dir);

enum { PATHS_BIRTH = 64 };

/* Names a file or folder (`name` "": `dir` itself) by inode and time of birth; a copy has
 * another name. If the file system keeps no time of birth, `untimed` stands for the time; if
 * `untimed` is NULL, the whole name is "". Returns the mode. If there is no such file, returns
 * 0 and the name "". */
mode_t paths_birth(int dir, const char *name, const char *untimed, char out[PATHS_BIRTH]);

#endif
