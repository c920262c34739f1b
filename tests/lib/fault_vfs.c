#include "tests/lib/fault_vfs.h"

#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "storage/store_inside.h"

struct disk {
	sqlite3_vfs vfs, *real;
	struct fault_control *control;
};

struct file {
	sqlite3_file base;
	struct fault_control *control;
	sqlite3_file *real; /* the real file, stored after this struct */
};

/* The result of an operation: SQLITE_OK, or the failure that the test asks for. */
static int strike(struct fault_control *c, enum fault_disk kind)
{
	long left;

	if (!(atomic_load(&c->kinds) & kind))
		return SQLITE_OK;
	atomic_fetch_add(&c->seen, 1);
	left = atomic_load(&c->after);
	while (left > 1 && !atomic_compare_exchange_weak(&c->after, &left, left - 1))
		;
	if (left != 1)
		return SQLITE_OK;
	if (!atomic_load(&c->lasting) &&
	    !atomic_compare_exchange_strong(&c->after, &left, 0))
		return SQLITE_OK; /* an operation of another thread has failed instead */
	atomic_fetch_add(&c->failed, 1);
	return atomic_load(&c->result);
}

static struct file *of(sqlite3_file *f)
{
	return (struct file *)f;
}

/* --- operations that fail ----------------------------------------------------- */

static int file_read(sqlite3_file *f, void *data, int n, sqlite3_int64 at)
{
	int rc = strike(of(f)->control, FAULT_DISK_READ);

	if (rc == SQLITE_OK)
		return of(f)->real->pMethods->xRead(of(f)->real, data, n, at);
	of(f)->real->pMethods->xRead(of(f)->real, data, n / 2, at);
	memset((char *)data + n / 2, 0, (size_t)(n - n / 2));
	return rc;
}

static bool grows(sqlite3_file *f, sqlite3_int64 end)
{
	sqlite3_int64 size = 0;

	return of(f)->real->pMethods->xFileSize(of(f)->real, &size) == SQLITE_OK &&
	       end > size;
}

static int file_write(sqlite3_file *f, const void *data, int n, sqlite3_int64 at)
{
	int rc = strike(of(f)->control, FAULT_DISK_WRITE);

	if (rc == SQLITE_OK && atomic_load(&of(f)->control->kinds) & FAULT_DISK_GROW &&
	    grows(f, at + n))
		rc = strike(of(f)->control, FAULT_DISK_GROW);
	if (rc == SQLITE_OK)
		return of(f)->real->pMethods->xWrite(of(f)->real, data, n, at);
	of(f)->real->pMethods->xWrite(of(f)->real, data, n / 2, at);
	return rc;
}

static int file_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	int rc = strike(of(f)->control, FAULT_DISK_TRUNCATE);

	return rc ? rc : of(f)->real->pMethods->xTruncate(of(f)->real, size);
}

static int file_sync(sqlite3_file *f, int flags)
{
	int rc = strike(of(f)->control, FAULT_DISK_SYNC);

	return rc ? rc : of(f)->real->pMethods->xSync(of(f)->real, flags);
}

/* --- operations that always go to the real file --------------------------------- */

static int file_close(sqlite3_file *f)
{
	return of(f)->real->pMethods->xClose(of(f)->real);
}

static int file_size(sqlite3_file *f, sqlite3_int64 *size)
{
	return of(f)->real->pMethods->xFileSize(of(f)->real, size);
}

static int file_lock(sqlite3_file *f, int level)
{
	return of(f)->real->pMethods->xLock(of(f)->real, level);
}

static int file_unlock(sqlite3_file *f, int level)
{
	return of(f)->real->pMethods->xUnlock(of(f)->real, level);
}

static int file_check_lock(sqlite3_file *f, int *reserved)
{
	return of(f)->real->pMethods->xCheckReservedLock(of(f)->real, reserved);
}

static int file_control(sqlite3_file *f, int op, void *arg)
{
	return of(f)->real->pMethods->xFileControl(of(f)->real, op, arg);
}

static int file_sector(sqlite3_file *f)
{
	return of(f)->real->pMethods->xSectorSize(of(f)->real);
}

static int file_character(sqlite3_file *f)
{
	return of(f)->real->pMethods->xDeviceCharacteristics(of(f)->real);
}

static int file_shm_map(sqlite3_file *f, int page, int size, int extend,
			void volatile **out)
{
	return of(f)->real->pMethods->xShmMap(of(f)->real, page, size, extend, out);
}

static int file_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
	return of(f)->real->pMethods->xShmLock(of(f)->real, at, n, flags);
}

static void file_shm_barrier(sqlite3_file *f)
{
	of(f)->real->pMethods->xShmBarrier(of(f)->real);
}

static int file_shm_unmap(sqlite3_file *f, int del)
{
	return of(f)->real->pMethods->xShmUnmap(of(f)->real, del);
}

static const sqlite3_io_methods methods = {
	.iVersion = 2, /* version 2 has no functions for mmap, and the store does not use
			  mmap */
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_unlock,
	.xCheckReservedLock = file_check_lock,
	.xFileControl = file_control,
	.xSectorSize = file_sector,
	.xDeviceCharacteristics = file_character,
	.xShmMap = file_shm_map,
	.xShmLock = file_shm_lock,
	.xShmBarrier = file_shm_barrier,
	.xShmUnmap = file_shm_unmap,
};

/* --- the VFS ---------------------------------------------------------------------- */

static int disk_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags,
		     int *out_flags)
{
	struct disk *disk = (struct disk *)vfs;
	int rc = strike(disk->control, FAULT_DISK_OPEN);

	f->pMethods = NULL;
	if (rc != SQLITE_OK)
		return SQLITE_CANTOPEN;
	of(f)->control = disk->control;
	of(f)->real = (sqlite3_file *)(of(f) + 1);
	rc = disk->real->xOpen(disk->real, name, of(f)->real, flags, out_flags);
	/* SQLite closes a file that has methods, even if opening the file failed. */
	if (of(f)->real->pMethods)
		f->pMethods = &methods;
	return rc;
}

struct fault_control *fault_vfs_map(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *p = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, sizeof(struct fault_control)) == 0)
		p = mmap(NULL, sizeof(struct fault_control), PROT_READ | PROT_WRITE,
			 MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	/* cppcheck-suppress memleak ; the block stays mapped */
	return p == MAP_FAILED ? NULL : p;
}

int fault_vfs_register(struct fault_control *control)
{
	sqlite3_vfs *real = sqlite3_vfs_find(NULL);
	struct disk *disk = real ? calloc(1, sizeof(*disk)) : NULL;

	if (!disk)
		return -1;
	/* The functions that delete files, resolve paths and read the clock stay those of the
	 * default VFS. */
	disk->vfs = *real;
	disk->vfs.pNext = NULL;
	disk->vfs.zName = "faulty";
	disk->vfs.szOsFile = real->szOsFile + (int)sizeof(struct file);
	disk->vfs.xOpen = disk_open;
	disk->real = real;
	disk->control = control;
	if (sqlite3_vfs_register(&disk->vfs, 0) == SQLITE_OK)
		return 0;
	free(disk);
	return -1;
}

void fault_vfs_unregister(void)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find("faulty");

	if (!vfs)
		return;
	sqlite3_vfs_unregister(vfs);
	free(vfs);
}

/* --- a control block from the environment -------------------------------------------- */

static void choose(void)
{
	const char *path = getenv("CADRE_TEST_VFS");
	struct fault_control *control = path ? fault_vfs_map(path) : NULL;

	if (control)
		fault_vfs_register(control);
}

/* CADRE_TEST_VFS is the path of the file with the control block. The file is mapped only once,
 * and the VFS is registered only once. */
const char *store_vfs_chosen(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, choose);
	return getenv("CADRE_TEST_VFS") && sqlite3_vfs_find("faulty") ? "faulty" : NULL;
}
