/*
 * private - files and folders that only their owner may read.
 *
 * All files of a state or its vault are made with the mode PRIVATE_FILE, and all folders with
 * PRIVATE_FOLDER. So no umask can open them to others.
 */
#ifndef CORE_MACHINE_PRIVATE_H
#define CORE_MACHINE_PRIVATE_H

#include <sys/stat.h>

/* PRIVATE_LOOK: the rights that a folder's owner needs to list and read its content. */
enum { PRIVATE_FILE = 0600, PRIVATE_FOLDER = 0700, PRIVATE_LOOK = 0500 };

/* Removes the permissions of group and others from a folder or file and from everything below
 * it. Only files and folders of the caller are changed. No symlink is followed, no other file
 * system is entered, and a file with a second hard link is not changed. If the owner may not
 * list or enter a folder, the owner gets these rights. An entry that cannot be changed is
 * skipped. */
void private_tree(const char *path);

/* Like private_tree(), for the entry `name` of an open folder. */
void private_tree_at(int dir, const char *name);

#endif
