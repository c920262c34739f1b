/*
 * box - a machine of its own whose power can fail.
 *
 * A file system in a file, behind a loop device, and processes in a pid and mount
 * namespace with a boot id of their own.  A failure is FS_IOC_SHUTDOWN without the
 * journal being written: what nobody had synced, and the kernel had not written by
 * itself, is gone.  It needs root and loop devices.
 */
#ifndef TESTS_POWER_BOX_H
#define TESTS_POWER_BOX_H

#include <stdbool.h>
#include <sys/types.h>

struct box {
	const char *kind; /* ext4, xfs, btrfs */
	char place[80], boot[96], device[32];
	int loop; /* the device, open: it goes with whoever has it open last */
	pid_t init; /* of what runs in it; 0: nothing does */
	bool mounted;
};

/* Mounts of this process are seen by nobody else from now on; -1: not allowed. */
int box_begin(void);
/* Makes a file system of that kind in `folder` or in memory, and mounts it at
 * `place`, which is made; -1 when this machine cannot. */
int box_open(struct box *b, const char *kind, const char *folder, const char *place);
void box_close(struct box *b);

/* Runs `live` as process 1 of a machine that has just booted. */
void box_boot(struct box *b, int (*live)(void *arg), void *arg);
/* Waits for the box and returns its exit status; -1 when it does not end in time. */
int box_join(struct box *b, int ms);
/* The power fails, now.  Whoever notes what he is told stands still before that:
 * an answer that comes while the disk is dying is none.  -1: it cannot. */
int box_fail(const struct box *b);
/* Ends the failure: all that ran is gone, and the disk is there again; -1 with a line
 * on stderr. */
int box_recover(struct box *b);

#endif
