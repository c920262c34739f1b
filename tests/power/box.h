/*
 * box - a machine whose power can fail.
 *
 * The machine has a file system on a loop device, whose data is in a file. The machine's
 * processes have their own pid namespace, mount namespace and boot id. A power failure is the
 * ioctl FS_IOC_SHUTDOWN, with a flag that keeps the kernel from writing the journal. Data that
 * no process has synced, and that the kernel has not written yet, is lost. The machine needs
 * root and loop devices.
 */
#ifndef TESTS_POWER_BOX_H
#define TESTS_POWER_BOX_H

#include <stdbool.h>
#include <sys/types.h>

struct box {
	const char *kind; /* ext4, xfs or btrfs */
	char place[80], boot[96], device[32];
	int loop; /* open loop device, which is freed at the last close */
	pid_t init; /* process 1 of the machine; 0: the machine is off */
	bool mounted;
};

/* Hides this process's later mounts from other processes. Returns -1 if this is not allowed. */
int box_begin(void);
/* Makes a file system of this kind in /dev/shm, or in `folder` if /dev/shm has too little room.
 * Makes the folder `place` and mounts the file system on it. Returns -1 if this machine cannot
 * make or mount the file system, or cannot make it fail. */
int box_open(struct box *b, const char *kind, const char *folder, const char *place);
void box_close(struct box *b);

/* Runs `live` as process 1 of a machine that has just booted. */
void box_boot(struct box *b, int (*live)(void *arg), void *arg);
/* Waits until the box's process 1 ends. Returns the exit status of process 1, or -1 if process
 * 1 does not end within `ms`. */
int box_join(struct box *b, int ms);
/* Makes the power fail now, or returns -1 if this is not possible. Before the call, the caller
 * stops all processes that record answers, since an answer during the failure does not count. */
int box_fail(const struct box *b);
/* Kills all processes of the box and mounts the disk again. On failure returns -1 and prints a
 * line on stderr. */
int box_recover(struct box *b);

#endif
