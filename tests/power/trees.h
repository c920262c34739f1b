/*
 * trees - directories that are copied, and what must be in them.
 *
 * Two workspaces hold version 0 or 1 of the same files, and have a snapshot of
 * each.  At random they are restored and forked, snapshots are taken and removed,
 * backups made, notes written.  What was begun, and what was answered, is in
 * memory that survives the failure.
 */
#ifndef TESTS_POWER_TREES_H
#define TESTS_POWER_TREES_H

#include "tests/crash/crash.h"

enum { TREES = 2, NOTES_MOST = 10000 };

struct trees {
	struct tree {
		char name[64], path[200], kept[200]; /* kept: folder of its snapshots */
		char version_kept[2][300]; /* the snapshot of each version */
		/* The versions that it may hold: bit 0 and bit 1; both from the call to
		 * restore one until the other is seen to be ready. */
		unsigned may_hold;
	} trees[TREES];
	char backup[200]; /* the last one that was answered */
	int n_notes;
	bool note[NOTES_MOST]; /* that were answered */
	int restored, forked, taken, removed, destroyed, backed_up, noted; /* answered */
	int judged; /* trees that were looked at */
};

/* Makes the workspaces and both versions; the host runs.  -1 with a line on stdout. */
int trees_make(struct trees *t, struct scene *s);
/* Works on them until it is killed. */
void trees_work(struct trees *t, struct scene *s, uint64_t seed);
/* Compares the disk after a failure with the rows; returns the number of findings. */
int trees_judge(struct trees *t, const char *home);
/* In the end, while a host runs: the workspaces are ready and whole, the notes are
 * there; how many findings. */
int trees_settle(struct trees *t, struct scene *s);

#endif
