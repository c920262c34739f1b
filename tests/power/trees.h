/*
 * trees - directories that are copied, and the files that they must hold.
 *
 * Two workspaces hold version 0 or 1 of the same files, and have a snapshot of each version. At
 * random the program restores and forks the workspaces, takes and removes snapshots, makes
 * backups and writes notes. The program records begun and answered calls in memory that
 * survives the failure.
 */
#ifndef TESTS_POWER_TREES_H
#define TESTS_POWER_TREES_H

#include "tests/crash/crash.h"

enum { TREES = 2, NOTES_MOST = 10000 };

struct trees {
	struct tree {
		char name[64], path[200], kept[200]; /* kept: folder of snapshots */
		char version_kept[2][300]; /* path of the snapshot of each version */
		/* The versions that the tree may hold, as bit 0 and bit 1. Both bits are set
		 * from a restore's call until the tree is ready again. */
		unsigned may_hold;
	} trees[TREES];
	char backup[200]; /* path of the last backup whose call was answered */
	int n_notes;
	bool note[NOTES_MOST]; /* notes whose writes were answered */
	int restored, forked, taken, removed, destroyed, backed_up,
		noted; /* success counts */
	int judged; /* number of trees that were read */
};

/* Makes the workspaces and both versions, while the host runs. On failure returns -1 and prints
 * a line on stdout. */
int trees_make(struct trees *t, struct scene *s);
/* Works on the trees until the process is killed. */
void trees_work(struct trees *t, struct scene *s, uint64_t seed);
/* Compares the disk after a failure with the rows. Returns the number of findings. */
int trees_judge(struct trees *t, const char *home);
/* Checks at the end, while a host runs, that the workspaces are ready and whole and that all
 * answered notes exist. Returns the number of findings. */
int trees_settle(struct trees *t, struct scene *s);

#endif
