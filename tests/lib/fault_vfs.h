/*
 * fault_vfs - a disk that fails when a test says so.
 *
 * The VFS is named "faulty" and calls the default VFS. A control block says which operations
 * fail and when. The block is in the test's own memory, or in a file that the test and the
 * programs under test map. Therefore the test can break and mend the disk of a running program.
 *
 * The counted operation number `after` fails with `result`. If `lasting` is set, all counted
 * operations behind it fail, too. A write that fails still writes the first half of the bytes.
 * A read that fails still fills the first half of the buffer. A sync that fails does not sync.
 * Calls for locks and shared memory go to the default VFS.
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
	FAULT_DISK_GROW = 32, /* writes past a file's end, which fail on a full disk */
};

struct fault_control {
	atomic_int kinds; /* kinds (of enum fault_disk) of operations that are counted and
			     may fail */
	atomic_int result; /* SQLITE_FULL, or any code of SQLITE_IOERR */
	atomic_int lasting; /* all later operations fail too, until `after` is set anew */
	atomic_long after; /* the n-th counted operation from now fails; 0: no failure */
	atomic_long seen; /* number of counted operations */
	atomic_long failed; /* number of counted operations that failed */
};

/* Maps a control block from the file at `path`, and creates the file if it is missing. Returns
 * NULL if the mapping fails. The block stays mapped until the process ends. */
struct fault_control *fault_vfs_map(const char *path);

/* Registers the VFS "faulty". `control` must outlive the VFS. Returns 0, or -1 on failure. */
int fault_vfs_register(struct fault_control *control);
void fault_vfs_unregister(void);

#endif
