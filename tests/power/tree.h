/*
 * tree - a directory of many small files in one of two versions.
 */
#ifndef TESTS_POWER_TREE_H
#define TESTS_POWER_TREE_H

enum { TREE_FILES = 300 };

/* Writes all files of a version over existing files. Returns 0 or -1. */
int tree_write(const char *path, int version);

struct tree_look {
	unsigned holds; /* bit 0: all files have version 0; bit 1: all files have version 1 */
	int there, empty, strange; /* file counts; strange: files of neither version */
};

/* Reads all files of the tree except the guest's folder. */
void tree_look(const char *path, struct tree_look *out);

#endif
