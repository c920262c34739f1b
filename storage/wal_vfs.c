#include "storage/wal_vfs.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"

/*
 * passing - a file of a VFS that stands before a file of the VFS below, and the
 * methods that only pass on.
 */

struct passing {
	sqlite3_file base;
	sqlite3_file *real;
};

/* The file below `f`, which begins with a struct passing. */
static sqlite3_file *passing_real(sqlite3_file *f)
{
	return ((struct passing *)f)->real;
}

static const sqlite3_io_methods *passing_below(sqlite3_file *f)
{
	return passing_real(f)->pMethods;
}

/* The methods of an sqlite3_file, passed on to the real file. */
static int passing_close(sqlite3_file *f)
{
	return passing_below(f)->xClose(passing_real(f));
}

static int passing_read(sqlite3_file *f, void *data, int n, sqlite3_int64 at)
{
	return passing_below(f)->xRead(passing_real(f), data, n, at);
}

static int passing_write(sqlite3_file *f, const void *data, int n, sqlite3_int64 at)
{
	return passing_below(f)->xWrite(passing_real(f), data, n, at);
}

static int passing_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	return passing_below(f)->xTruncate(passing_real(f), size);
}

static int passing_sync(sqlite3_file *f, int flags)
{
	return passing_below(f)->xSync(passing_real(f), flags);
}

static int passing_size(sqlite3_file *f, sqlite3_int64 *size)
{
	return passing_below(f)->xFileSize(passing_real(f), size);
}

static int passing_lock(sqlite3_file *f, int level)
{
	return passing_below(f)->xLock(passing_real(f), level);
}

static int passing_unlock(sqlite3_file *f, int level)
{
	return passing_below(f)->xUnlock(passing_real(f), level);
}

static int passing_check_lock(sqlite3_file *f, int *reserved)
{
	return passing_below(f)->xCheckReservedLock(passing_real(f), reserved);
}

static int passing_control(sqlite3_file *f, int op, void *arg)
{
	return passing_below(f)->xFileControl(passing_real(f), op, arg);
}

static int passing_sector(sqlite3_file *f)
{
	return passing_below(f)->xSectorSize(passing_real(f));
}

static int passing_character(sqlite3_file *f)
{
	return passing_below(f)->xDeviceCharacteristics(passing_real(f));
}

static int passing_shm_map(sqlite3_file *f, int page, int size, int extend,
			   void volatile **out)
{
	return passing_below(f)->xShmMap(passing_real(f), page, size, extend, out);
}

static int passing_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
	return passing_below(f)->xShmLock(passing_real(f), at, n, flags);
}

static void passing_shm_barrier(sqlite3_file *f)
{
	passing_below(f)->xShmBarrier(passing_real(f));
}

static int passing_shm_unmap(sqlite3_file *f, int del)
{
	return passing_below(f)->xShmUnmap(passing_real(f), del);
}

enum {
	WAL_HEADER = 32,
	FRAME_HEADER = 24,
	ROOM = 128 << 10, /* bytes that are gathered at most */
};

struct gatherer {
	sqlite3_vfs vfs;
	const char *below;
	char name[64];
};

struct wal {
	struct passing to; /* the file behind this struct */
	char *data; /* bytes not yet written, or NULL */
	int n;
	sqlite3_int64 at; /* place of data[0] in the file */
	bool commits; /* the next page ends a transaction */
	int64_t syncs, sync_ns;
};

static struct wal *of(sqlite3_file *f)
{
	return (struct wal *)f;
}

/* --- gathering ------------------------------------------------------------------ */

static int wal_vfs_flush(struct wal *w)
{
	int n = w->n;

	w->n = 0;
	w->commits = false;
	return n ? w->to.real->pMethods->xWrite(w->to.real, w->data, n, w->at)
		 : SQLITE_OK;
}

/* Whether a frame commits: the second number of its header is not 0. */
static bool says_commit(const unsigned char *header)
{
	return header[4] | header[5] | header[6] | header[7];
}

static int wal_write(sqlite3_file *f, const void *data, int n, sqlite3_int64 at)
{
	struct wal *w = of(f);
	bool ends = w->commits && n != FRAME_HEADER;
	int rc = SQLITE_OK;

	if (!w->data && !(w->data = malloc(ROOM)))
		return SQLITE_IOERR_NOMEM;
	/* A page that is written again in its transaction may still be here. */
	if (w->n && (at < w->at || at > w->at + w->n || at + n > w->at + ROOM))
		rc = wal_vfs_flush(w);
	if (rc == SQLITE_OK && (n > ROOM || at < WAL_HEADER)) {
		rc = wal_vfs_flush(w);
		return rc ? rc : w->to.real->pMethods->xWrite(w->to.real, data, n, at);
	}
	if (rc != SQLITE_OK)
		return rc;
	if (w->n == 0)
		w->at = at;
	memcpy(w->data + (at - w->at), data, (size_t)n);
	if (at + n > w->at + w->n)
		w->n = (int)(at + n - w->at);
	w->commits = n == FRAME_HEADER && says_commit(data);
	return ends ? wal_vfs_flush(w) : SQLITE_OK;
}

static int wal_read(sqlite3_file *f, void *data, int n, sqlite3_int64 at)
{
	struct wal *w = of(f);
	int rc = at < w->at + w->n && at + n > w->at ? wal_vfs_flush(w) : SQLITE_OK;

	return rc ? rc : w->to.real->pMethods->xRead(w->to.real, data, n, at);
}

static int wal_sync(sqlite3_file *f, int flags)
{
	struct wal *w = of(f);
	int64_t began;
	int rc = wal_vfs_flush(w);

	if (rc)
		return rc;
	began = clock_raw_ns();
	rc = w->to.real->pMethods->xSync(w->to.real, flags);
	w->syncs++;
	w->sync_ns += clock_raw_ns() - began;
	return rc;
}

static int wal_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	int rc = wal_vfs_flush(of(f));

	return rc ? rc : of(f)->to.real->pMethods->xTruncate(of(f)->to.real, size);
}

static int wal_size(sqlite3_file *f, sqlite3_int64 *size)
{
	int rc = wal_vfs_flush(of(f));

	return rc ? rc : of(f)->to.real->pMethods->xFileSize(of(f)->to.real, size);
}

/* The frames that are still gathered belong to no commit, and are dropped. */
static int wal_close(sqlite3_file *f)
{
	free(of(f)->data);
	of(f)->data = NULL;
	return of(f)->to.real->pMethods->xClose(of(f)->to.real);
}

/* --- the file of the database -------------------------------------------------------- */

/* Bytes of the shared memory that SQLite locks ("WAL-mode File Format"): 1 copies the
 * WAL, 2 says that somebody reads it to make the shared memory anew. */
enum { RECOVER_BYTE = 2 };

/* Lets the lock of byte 2 pass without locking.  It keeps no writer out: byte 0 ensures
 * that only one process reads the WAL.  It would only make a reader without a busy
 * timeout, such as `sqlite3`, answer "database is locked" at once, where SQLite else
 * tries for ten seconds. */
static int db_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
	if (flags & SQLITE_SHM_EXCLUSIVE) {
		if (at + n - 1 == RECOVER_BYTE)
			n--;
		if (n == 0)
			return SQLITE_OK;
	}
	return passing_shm_lock(f, at, n, flags);
}

static const sqlite3_io_methods db_methods = {
	.iVersion = 2, /* without mmap of the file, as the store has it */
	.xClose = passing_close,
	.xRead = passing_read,
	.xWrite = passing_write,
	.xTruncate = passing_truncate,
	.xSync = passing_sync,
	.xFileSize = passing_size,
	.xLock = passing_lock,
	.xUnlock = passing_unlock,
	.xCheckReservedLock = passing_check_lock,
	.xFileControl = passing_control,
	.xSectorSize = passing_sector,
	.xDeviceCharacteristics = passing_character,
	.xShmMap = passing_shm_map,
	.xShmLock = db_shm_lock,
	.xShmBarrier = passing_shm_barrier,
	.xShmUnmap = passing_shm_unmap,
};

static const sqlite3_io_methods wal_methods = {
	.iVersion = 1, /* a WAL has no shared memory of its own */
	.xClose = wal_close,
	.xRead = wal_read,
	.xWrite = wal_write,
	.xTruncate = wal_truncate,
	.xSync = wal_sync,
	.xFileSize = wal_size,
	.xLock = passing_lock,
	.xUnlock = passing_unlock,
	.xCheckReservedLock = passing_check_lock,
	.xFileControl = passing_control,
	.xSectorSize = passing_sector,
	.xDeviceCharacteristics = passing_character,
};

int64_t wal_vfs_syncs(sqlite3_file *f, int64_t *ns)
{
	if (!f || f->pMethods != &wal_methods)
		return 0;
	*ns = of(f)->sync_ns;
	return of(f)->syncs;
}

/* --- the VFS ---------------------------------------------------------------------- */

static int gatherer_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags,
			 int *out_flags)
{
	sqlite3_vfs *below = sqlite3_vfs_find(((struct gatherer *)vfs)->below);
	struct wal *w = of(f);
	int rc;

	f->pMethods = NULL;
	if (!below)
		return SQLITE_CANTOPEN;
	if (!(flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_DB)))
		return below->xOpen(below, name, f, flags, out_flags);
	*w = (struct wal){ .to.real = (sqlite3_file *)(w + 1) };
	rc = below->xOpen(below, name, w->to.real, flags, out_flags);
	/* SQLite closes a file that has methods, even after a failure. */
	if (w->to.real->pMethods)
		f->pMethods = flags & SQLITE_OPEN_WAL ? &wal_methods : &db_methods;
	return rc;
}

static const char *wal_vfs_make(const char *below)
{
	sqlite3_vfs *under = sqlite3_vfs_find(below);
	struct gatherer *g = under ? calloc(1, sizeof(*g)) : NULL;

	if (!g)
		return NULL;
	/* Deleting, paths and time are those of the VFS below. */
	g->vfs = *under;
	g->vfs.pNext = NULL;
	g->vfs.szOsFile = under->szOsFile + (int)sizeof(struct wal);
	g->vfs.xOpen = gatherer_open;
	g->vfs.zName = g->name;
	snprintf(g->name, sizeof(g->name), "gathering %s", under->zName);
	g->below = below ? g->name + strlen("gathering ") : NULL;
	if (sqlite3_vfs_register(&g->vfs, 0) == SQLITE_OK)
		return g->name;
	free(g);
	return NULL;
}

const char *wal_vfs_over(const char *below)
{
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
	sqlite3_vfs *under, *found;
	const char *name = NULL;
	char full[64];

	pthread_mutex_lock(&one);
	if ((under = sqlite3_vfs_find(below))) {
		snprintf(full, sizeof(full), "gathering %s", under->zName);
		found = sqlite3_vfs_find(full);
		name = found ? found->zName : wal_vfs_make(below);
	}
	pthread_mutex_unlock(&one);
	return name;
}
