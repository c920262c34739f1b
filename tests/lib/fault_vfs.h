/*
 * fault_vfs - a disk that fails when a test says so.
 *
 * A VFS named "faulty" over the default one.  A control block says
 * which operations fail and when.  It is in memory of the test, or a file that the test
 * and the programs it starts map together, so that the test can break and mend their
 * disk while they run.  The n-th counted operation fails with `result`, once or from
 * then on; a failing write has written its first half, a failing read has filled its
 * first half, a failing sync has not synced.  Locks and shared memory are passed
 * through.
 */
#ifndef TESTS_LIB_FAULT_VFS_H
#define TESTS_LIB_FAULT_VFS_H

#include <stdatomic.h>

enum fault_disk {
	FAULT_DISK_READ = 1,
	FAULT_DISK_WRITE = 2,
	FAULT_DISK_SYNC = 4,
	FAULT_DISK_TRUNCATE = 8,
	FAULT_DISK_OPEN = 16,
	FAULT_DISK_ALL = 31,
	FAULT_DISK_GROW = 32, /* a write behind the end of a file: a full disk */
};

struct fault_control {
	atomic_int kinds; /* kinds (of enum fault_disk) of operations that count and
			     fail */
	atomic_int result; /* SQLITE_FULL, or any of SQLITE_IOERR */
	atomic_int lasting; /* fails from then on, until `after` is set anew */
	atomic_long after; /* the n-th counted operation from now fails; 0: none does */
	atomic_long seen; /* operations counted */
	atomic_long failed; /* of these, failures */
};

/* A control block in the file at `path`, made when it is not there; NULL when
 * it cannot be mapped.  It stays mapped until the process ends. */
struct fault_control *fault_vfs_map(const char *path);

/* Registers the VFS "faulty"; `control` outlives it.  0, or -1. */
int fault_vfs_register(struct fault_control *control);
void fault_vfs_unregister(void);

#endif
