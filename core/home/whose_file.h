/*
 * whose_file - the folder that tells which agents directories are, and its files: the parts
 * of whose.h.
 *
 *     HASH              who a place is; HASH is the place's
 *     HASH.THREAD       such a file, while it is written
 *     HASH.NUMBER.key   a call by which a place is to become an agent's
 *     HASH.PID.session  who a session of a client is in a place, known by a process of it
 *     HASH.gone         who a directory was that is at its place no more; HASH is the birth's
 */
#ifndef CORE_HOME_WHOSE_FILE_H
#define CORE_HOME_WHOSE_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "core/home/whose.h"

enum { WHOSE_NAME = 33, WHOSE_BIRTH = 64, WHOSE_ROOM = 8192 };

extern const char whose_folder[]; /* its name */

/* Names a directory by inode and time of birth, where the file system keeps one; false
 * where there is none. */
bool whose_birth(const char *place, char out[WHOSE_BIRTH]);

/* The name of the file of a place, or of a birth. */
void whose_name(const char *place, char out[WHOSE_NAME]);

/* The fault about a file that cannot be trusted, or about the folder (name ""). */
int whose_refuse(const char *state, const char *name, const char *why, struct fault *f);

/* Opens the folder: a descriptor, -1 where there is none, or another negative with the
 * fault filled. */
int whose_open(const char *state, struct fault *f);
/* whose_open(), which makes the folder. */
int whose_make(const char *state, struct fault *f);

/* Takes the next line, which begins with `word`; false where another does. */
bool whose_line(char **at, const char *word, char *out, size_t room);

/* Why an open file cannot be trusted, or NULL with its text. */
const char *whose_private(int fd, char text[WHOSE_ROOM]);

/* Reads who a place is from a file of the folder: NULL, or why it cannot be trusted.
 * `*there` tells whether there is one. */
const char *whose_file(int dir, const char *name, struct whose *k,
		       char birth[WHOSE_BIRTH], bool *there);

/* Writes the file of k->place. */
bool whose_put(int dir, const char *name, const struct whose *k, const char *birth);

/* --- sessions (whose_session.c) ------------------------------------------------------- */

/* The process of such a file; 0: it is another one. */
pid_t whose_session_pid(const char *name);
/* Reads the file of a process that lives still; false: it counts no more. */
bool whose_session_lives(int dir, const char *name, struct whose *k);

/* --- directories that are gone, or were moved (whose_moved.c) ------------------------- */

/* Sets the files of places aside that are gone, or were made anew; removes what is old.  The
 * folder is locked. */
void whose_sweep(int dir);

/* Finds who the first of these directories was at another place, where it is no more, and
 * keeps that for its place now: 1 with `out` filled and `place` its own, or 0.  `births` are
 * those of `place` and the folders that it lies in. */
int whose_follow(const char *state, char place[4096], char births[][WHOSE_BIRTH], int n,
		 struct whose *out);

#endif
