/*
 * folder - a test's folder, gone with all that is in it.
 */
#ifndef TESTS_LIB_FOLDER_H
#define TESTS_LIB_FOLDER_H

/* Removes a folder without following symlinks: 0 or -1 with errno. */
int folder_remove(const char *path);

#endif
