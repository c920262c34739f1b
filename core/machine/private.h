/*
 * private - files and folders that nobody but their owner may look at.
 *
 * All files and folders of a state or its vault are made with the mode PRIVATE_FILE or
 * PRIVATE_FOLDER, so no umask can open them to others.
 */
#ifndef CORE_MACHINE_PRIVATE_H
#define CORE_MACHINE_PRIVATE_H

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

#endif
