/*
 * box - a machine whose power can fail.
 *
 * The machine has a file system in a file, on a loop device. Its processes have their own pid
 * and mount namespaces and boot id. A power failure is FS_IOC_SHUTDOWN without writing the
 * journal. Data is lost if no process synced it and the kernel had not written it. The machine
 * needs root and loop devices.
 */
#ifndef TESTS_POWER_BOX_H
#define TESTS_POWER_BOX_H

#include <stdbool.h>
#include <sys/types.h>

struct box {
	const char *kind; /* ext4, xfs, btrfs */
	char place[80], boot[96], device[32];
	int loop; /* open loop device: it is freed at its last close */
	pid_t init; /* process 1 of the machine; 0: the machine is off */
	bool mounted;
};

/* Hides this process's later mounts from other processes. -1 if this is not allowed. */
int box_begin(void);
/* Makes a file system of this kind in `folder` or in memory. Makes the folder `place` and
 * mounts the file system on it. -1 if this machine cannot do so. */
int box_open(struct box *b, const char *kind, const char *folder, const char *place);
void box_close(struct box *b);

/* Runs `live` as process 1 of a machine that has just booted. */
void box_boot(struct box *b, int (*live)(void *arg), void *arg);
/* Waits for the box and returns its exit status; -1 if the box does not end within `ms`. */
int box_join(struct box *b, int ms);
/* Makes the power fail now; -1 if this is not possible. The caller first stops all processes
 * that note answers, since an answer during the failure does not count. */
int box_fail(const struct box *b);
/* Kills all processes of the box and mounts the disk again. On failure returns -1 and prints a
 * line on stderr. */
int box_recover(struct box *b);

#endif
