#include "storage/passing.h"

sqlite3_file *passing_real(sqlite3_file *f)
{
	return ((struct passing *)f)->real;
}

static const sqlite3_io_methods *passing_below(sqlite3_file *f)
{
	return passing_real(f)->pMethods;
}

int passing_close(sqlite3_file *f)
{
	return passing_below(f)->xClose(passing_real(f));
}

int passing_read(sqlite3_file *f, void *data, int n, sqlite3_int64 at)
{
	return passing_below(f)->xRead(passing_real(f), data, n, at);
}

int passing_write(sqlite3_file *f, const void *data, int n, sqlite3_int64 at)
{
	return passing_below(f)->xWrite(passing_real(f), data, n, at);
}

int passing_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	return passing_below(f)->xTruncate(passing_real(f), size);
}

int passing_sync(sqlite3_file *f, int flags)
{
	return passing_below(f)->xSync(passing_real(f), flags);
}

int passing_size(sqlite3_file *f, sqlite3_int64 *size)
{
	return passing_below(f)->xFileSize(passing_real(f), size);
}

int passing_lock(sqlite3_file *f, int level)
{
	return passing_below(f)->xLock(passing_real(f), level);
}

int passing_unlock(sqlite3_file *f, int level)
{
	return passing_below(f)->xUnlock(passing_real(f), level);
}

int passing_check_lock(sqlite3_file *f, int *reserved)
{
	return passing_below(f)->xCheckReservedLock(passing_real(f), reserved);
}

int passing_control(sqlite3_file *f, int op, void *arg)
{
	return passing_below(f)->xFileControl(passing_real(f), op, arg);
}

int passing_sector(sqlite3_file *f)
{
	return passing_below(f)->xSectorSize(passing_real(f));
}

int passing_character(sqlite3_file *f)
{
	return passing_below(f)->xDeviceCharacteristics(passing_real(f));
}

int passing_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out)
{
	return passing_below(f)->xShmMap(passing_real(f), page, size, extend, out);
}

int passing_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
	return passing_below(f)->xShmLock(passing_real(f), at, n, flags);
}

void passing_shm_barrier(sqlite3_file *f)
{
	passing_below(f)->xShmBarrier(passing_real(f));
}

int passing_shm_unmap(sqlite3_file *f, int del)
{
	return passing_below(f)->xShmUnmap(passing_real(f), del);
}
