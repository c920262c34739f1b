/*
 * private - files and folders that only their owner may use.
 *
 * All files of a state and its vault are made with the mode PRIVATE_FILE, and all folders with
 * the mode PRIVATE_FOLDER. So other users have no access, whatever the umask is.
 */
#ifndef CORE_MACHINE_PRIVATE_H
#define CORE_MACHINE_PRIVATE_H

#include <sys/stat.h>

/* PRIVATE_LOOK: the rights that a folder's owner needs to list and read its content. */
enum { PRIVATE_FILE = 0600, PRIVATE_FOLDER = 0700, PRIVATE_LOOK = 0500 };

/* Removes all rights of the group and of other users from a file, or from a folder and
 * everything below it, down to 256 levels. Changes only files and folders of the calling user.
 * Follows no symlink, enters no other file system, and does not change a file with a second
 * hard link. If the owner may not list or enter a folder, gives the owner the right to list and
 * enter the folder. Skips an entry that cannot be changed. */
void private_tree(const char *path);

/* Does the same as private_tree() for the entry `name` of the open folder `dir`. */
void private_tree_at(int dir, const char *name);

#endif
