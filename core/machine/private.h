/*
 * private - files and folders that nobody but their owner may look at.
 *
 * All that is written into a state or its vault has PRIVATE_FILE or PRIVATE_FOLDER as
 * its mode when it is made, so that no umask can open it to others.
 */
#ifndef CORE_MACHINE_PRIVATE_H
#define CORE_MACHINE_PRIVATE_H

enum { PRIVATE_FILE = 0600, PRIVATE_FOLDER = 0700 };

/* Takes the permissions of group and others from a folder or file and all that is
 * below it.  Only what is the caller's own is changed: no symlink is followed, no
 * other file system is entered, and a file that also has a name elsewhere stays as
 * it is.  What cannot be changed is passed over. */
void private_tree(const char *path);

#endif
