/*
 * private - files and folders that nobody but their owner may look at.
 *
 * All files and folders of a state or its vault are made with the mode PRIVATE_FILE or
 * PRIVATE_FOLDER, so no umask can open them to others.
 */
#ifndef CORE_MACHINE_PRIVATE_H
#define CORE_MACHINE_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* PRIVATE_LOOK: the rights that a folder's owner needs to list and read its content. */
enum { PRIVATE_FILE = 0600, PRIVATE_FOLDER = 0700, PRIVATE_LOOK = 0500 };

/* Takes the permissions of group and others from a folder or file and all that is
 * below it.  Only files and folders of the caller are changed: no symlink is followed, no
 * other file system is entered, and a file that also has a name elsewhere stays as it is.
 * A folder that its owner may not list or enter is opened to him.  An entry that cannot
 * be changed is passed over. */
void private_tree(const char *path);

/* The same for what has a name in an open folder. */
void private_tree_at(int dir, const char *name);

/* Gives the owner all rights to an open folder (O_PATH will do), if the caller owns the
 * folder and may not list or enter it.  A process with a narrow umask leaves such
 * folders.  The rights of others stay. */
void private_enter(int folder);

/* The same for a folder in an open one, or (AT_FDCWD) by its path, if its owner lacks one of
 * `rights`.  A symlink in its place is not followed. */
void private_enter_at(int dir, const char *name, mode_t rights);

/* The same as private_enter() for a folder by its path, which may be a symlink. */
void private_enter_root(const char *path);

/* Finds a folder that its own owner may not list or enter: `path` itself, or a folder at most
 * `depth` levels below `path`.  Its path is in `out`. */
bool private_shut(const char *path, int depth, char *out, size_t size);

#endif
