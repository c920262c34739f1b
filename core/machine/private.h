/*
 * private - files and folders that nobody but their owner may look at.
 *
 * All that is written into a state or its vault has PRIVATE_FILE or PRIVATE_FOLDER as
 * its mode when it is made, so that no umask can open it to others.
 */
#ifndef CORE_MACHINE_PRIVATE_H
#define CORE_MACHINE_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

enum { PRIVATE_FILE = 0600, PRIVATE_FOLDER = 0700 };

/* Takes the permissions of group and others from a folder or file and all that is
 * below it.  Only what is the caller's own is changed: no symlink is followed, no
 * other file system is entered, and a file that also has a name elsewhere stays as
 * it is.  A folder that nobody may enter is opened to its owner.  What cannot be changed is
 * passed over. */
void private_tree(const char *path);

/* The same for what has a name in an open folder. */
void private_tree_at(int dir, const char *name);

/* Lets the owner enter an open folder that is the caller's own and that nobody may enter, as
 * a process with a narrow umask has left it. */
void private_enter(int folder);

/* Finds such a folder, whoever's: `path` itself, or one that is at most `depth` below it.
 * Its path is in `out`. */
bool private_shut(const char *path, int depth, char *out, size_t size);

#endif
