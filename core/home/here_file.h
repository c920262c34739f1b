/*
 * here_file - the folder that tells which agents directories are, and its files: the parts
 * of here.h.
 *
 *     HASH              the agent of a place; HASH is the place's
 *     HASH.THREAD       the file HASH, while it is written
 *     HASH.NUMBER.key   a call by which a place is to become an agent's
 *     HASH.PID.session  the agent of a client session in a place; PID is of the session
 *     HASH.gone         the agent of a directory that has left its place; HASH is the birth's
 */
#ifndef CORE_HOME_HERE_FILE_H
#define CORE_HOME_HERE_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "core/home/here.h"

enum { HERE_NAME = 33, HERE_BIRTH = 64, HERE_ROOM = 8192 };

extern const char here_folder[]; /* its name */

/* Names a directory by inode and time of birth, where the file system keeps one; false
 * where there is none. */
bool here_birth(const char *place, char out[HERE_BIRTH]);

/* The name of the file of a place, or of a birth. */
void here_name(const char *place, char out[HERE_NAME]);

/* The fault about a file that cannot be trusted, or about the folder (name ""). */
int here_refuse(const char *state, const char *name, const char *why, struct fault *f);

/* Opens the folder: a descriptor, -1 where there is none, or another negative with the
 * fault filled. */
int here_open(const char *state, struct fault *f);
/* here_open(), which makes the folder. */
int here_make(const char *state, struct fault *f);

/* Takes the next line, which begins with `word`; false where another does. */
bool here_line(char **at, const char *word, char *out, size_t room);

/* Why an open file cannot be trusted, or NULL with its text. */
const char *here_private(int fd, char text[HERE_ROOM]);

/* Reads who a place is from a file of the folder: NULL, or why it cannot be trusted.
 * `*there`: the file exists. */
const char *here_file(int dir, const char *name, struct here *k, char birth[HERE_BIRTH],
		      bool *there);

/* Writes the file of k->place. */
bool here_put(int dir, const char *name, const struct here *k, const char *birth);

/* --- sessions (here_session.c) ------------------------------------------------------- */

/* The process of such a file; 0: it is another one. */
pid_t here_session_pid(const char *name);
/* Reads the file of a process that lives still; false: it counts no more. */
bool here_session_lives(int dir, const char *name, struct here *k);

/* --- directories that are gone, or were moved (here_moved.c) ------------------------- */

/* Sets the files of places aside that are gone, or were made anew; removes what is old.  The
 * folder is locked. */
void here_sweep(int dir);

/* Finds who the first of these directories was at another place, where it is no more, and
 * keeps that for its place now: 1 with `out` filled and `place` its own, or 0.  `births` are
 * those of `place` and the folders that it lies in. */
int here_follow(const char *state, char place[4096], char births[][HERE_BIRTH], int n,
		struct here *out);

#endif
