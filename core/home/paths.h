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

/* `dir`/`name` (`dir` alone when the name is empty); false if it is too long. */
bool paths_join(char out[4096], const char *dir, const char *name);

/* Goes one folder up; false at the top. */
bool paths_up(char *dir);

/* Whether `path` is the folder `dir`, or lies in it. */
bool paths_is_in(const char *path, const char *dir);

/* The user's home: $HOME, else what the password file says; false with neither. */
bool paths_home(char out[4096]);

/* $XDG_STATE_HOME/cadre, else ~/.local/state/cadre; false without a home. */
bool paths_user_state(char out[4096]);

/* The value of an environment variable; NULL when unset or empty. */
const char *paths_env(const char *name);

/* --- small files; `dir` is an open folder, or AT_FDCWD ------------------------------- */

/* Reads a regular file to a text of less than `room` bytes: its length, or -1.  `flags` are
 * O_NOFOLLOW or 0; `st` may be NULL. */
ssize_t paths_read(int dir, const char *name, int flags, char *text, size_t room,
		   struct stat *st);

/* The first line of a regular file, without its end; false when there is none. */
bool paths_line(const char *path, char *line, size_t room);

/* Replaces a file by one of 0600 of the folder's owner, which is called `temp` until it is
 * complete and on the disk.  0, or -1 with errno. */
int paths_write(int dir, const char *temp, const char *name, const char *bytes, size_t n);

/* Opens a folder again to read its names, or gives NULL. */
DIR *paths_list(int dir);

enum { PATHS_BIRTH = 64 };

/* Names a file or folder (`name` "": `dir` itself) by inode and time of birth, which no copy
 * shares.  Where the file system keeps no time of birth, `untimed` is put in its place; with NULL
 * the name is "".  Gives the mode; 0 and the name "" where there is no such thing. */
mode_t paths_birth(int dir, const char *name, const char *untimed, char out[PATHS_BIRTH]);

#endif
