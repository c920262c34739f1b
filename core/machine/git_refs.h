/*
 * git_refs - reads which commit a git working tree has, and whether there is a stash.
 *
 * The files of `.git` are read as text and no git is run: the content of a workspace is
 * not to be trusted.  Links are not followed, and nothing outside of the folder is
 * opened.
 */
#ifndef CORE_MACHINE_GIT_REFS_H
#define CORE_MACHINE_GIT_REFS_H

#include <stdbool.h>

enum { GIT_ID_MAX = 64 };

/* Names of commits in hexadecimal digits; "": there is none, or it cannot be told. */
struct git_refs {
	char head[GIT_ID_MAX + 1], stash[GIT_ID_MAX + 1];
};

/* Opens the folder `.git` in `path`: its descriptor, or -1 where it is no folder (a linked
 * worktree's leads outside). */
int git_open(const char *path);

/* Opens a regular file below a folder, without following any link: a descriptor or -1. */
int git_open_file(int git, const char *path);

/* Reads the refs of an open `.git`. */
void git_refs_read(int git, struct git_refs *refs);

/* Writes them into an open file, as git_refs_load() reads them from the file `path`. */
bool git_refs_save(int fd, const struct git_refs *refs);
void git_refs_load(const char *path, struct git_refs *refs);

#endif
