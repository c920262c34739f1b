/*
 * git_index - reads what git's index says of one folder.
 *
 * Versions 2 to 4, with names of objects of SHA-1 and SHA-256.  A split index is read with
 * the shared one that it names, and with no other one that git has left.  Entries are
 * sorted, so that the reading ends soon.  A file of more than 512 MiB or four million
 * entries is not read.
 */
#ifndef CORE_HOME_GIT_INDEX_H
#define CORE_HOME_GIT_INDEX_H

#include <stdbool.h>
#include <stddef.h>

#include "core/home/tracked.h"

/* Entries in no order: name, NUL, mode (4 bytes) and object of each. */
struct git_row {
	size_t len;
	unsigned char bytes[];
};
struct git_rows {
	struct git_row **all;
	size_t n, room, bytes;
};

/* Finds which files the repository `git` tracks in `folder`, a path relative to its tree.
 * `rows`, empty, gets the entries, some of them also where the index cannot be read to
 * its end; NULL: the search ends at the first entry. */
enum tracked git_index_look(const char *git, const char *folder, struct git_rows *rows);

void git_rows_release(struct git_rows *rows);

#endif
