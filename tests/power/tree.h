/*
 * tree - a directory of many small files in one of two versions.
 */
#ifndef TESTS_POWER_TREE_H
#define TESTS_POWER_TREE_H

enum { TREE_FILES = 300 };

/* Writes all files of a version, over those of another; 0 or -1. */
int tree_write(const char *path, int version);

struct tree_look {
	unsigned holds; /* bit 0: version 0 wholly, bit 1: version 1 */
	int there, empty, strange; /* files; strange: of no version */
};

/* Looks at all of it but the guest's own folder. */
void tree_look(const char *path, struct tree_look *out);

#endif
