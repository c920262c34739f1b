/*
 * fault_vfs - a disk that fails when a test says so.
 *
 * A VFS named "faulty" over the default VFS. A control block says which operations fail and
 * when. The block is in memory of the test, or in a file. The test and the programs that it
 * starts map this file together, so that the test can break and mend their disk while they run.
 *
 * The n-th counted operation fails with `result`, once or from then on. A failing write has
 * written the first half of its bytes. A failing read has filled the first half of its buffer.
 * A failing sync has not synced. Calls for locks and shared memory go to the default VFS.
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
	FAULT_DISK_GROW = 32, /* a write past the end of a file, as on a full disk */
};

struct fault_control {
	atomic_int kinds; /* kinds (of enum fault_disk) of operations that count and
			     fail */
	atomic_int result; /* SQLITE_FULL, or any of SQLITE_IOERR */
	atomic_int lasting; /* all later operations fail too, until `after` is set anew */
	atomic_long after; /* the n-th counted operation from now fails; 0: no failure */
	atomic_long seen; /* number of counted operations */
	atomic_long failed; /* number of counted operations that failed */
};

/* A control block in the file at `path`, which is made if it is missing; NULL: mapping failed.
 * The block stays mapped until the process ends. */
struct fault_control *fault_vfs_map(const char *path);

/* Registers the VFS "faulty". `control` must outlive the VFS. Returns 0, or -1 on failure. */
int fault_vfs_register(struct fault_control *control);
void fault_vfs_unregister(void);

#endif
