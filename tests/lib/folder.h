/*
 * folder - removes a test's folder with its content.
 */
#ifndef TESTS_LIB_FOLDER_H
#define TESTS_LIB_FOLDER_H

/* Removes a folder without following symlinks. Returns 0, or -1 with errno. */
int folder_remove(const char *path);

#endif
