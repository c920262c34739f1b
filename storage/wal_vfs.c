#include "storage/wal_vfs.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WAL_HEADER = 32,
	FRAME_HEADER = 24,
	ROOM = 128 << 10, /* gathered at most */
};

struct gatherer {
	sqlite3_vfs vfs;
	const char *below;
	char name[64];
};

struct wal {
	sqlite3_file base;
	sqlite3_file *real; /* behind this struct */
	char *data; /* not written yet, or NULL */
	int n;
	sqlite3_int64 at; /* place of data[0] in the file */
	bool commits; /* the page that comes now ends a transaction */
};

static struct wal *of(sqlite3_file *f)
{
	return (struct wal *)f;
}

/* --- gathering ------------------------------------------------------------------ */

static int flush(struct wal *w)
{
	int n = w->n;

	w->n = 0;
	w->commits = false;
	return n ? w->real->pMethods->xWrite(w->real, w->data, n, w->at) : SQLITE_OK;
}

/* The header of a frame: its second number is 0 unless the frame commits. */
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
	/* A page that is written anew in its transaction may be here still. */
	if (w->n && (at < w->at || at > w->at + w->n || at + n > w->at + ROOM))
		rc = flush(w);
	if (rc == SQLITE_OK && (n > ROOM || at < WAL_HEADER)) {
		rc = flush(w);
		return rc ? rc : w->real->pMethods->xWrite(w->real, data, n, at);
	}
	if (rc != SQLITE_OK)
		return rc;
	if (w->n == 0)
		w->at = at;
	memcpy(w->data + (at - w->at), data, (size_t)n);
	if (at + n > w->at + w->n)
		w->n = (int)(at + n - w->at);
	w->commits = n == FRAME_HEADER && says_commit(data);
	return ends ? flush(w) : SQLITE_OK;
}

static int wal_read(sqlite3_file *f, void *data, int n, sqlite3_int64 at)
{
	struct wal *w = of(f);
	int rc = at < w->at + w->n && at + n > w->at ? flush(w) : SQLITE_OK;

	return rc ? rc : w->real->pMethods->xRead(w->real, data, n, at);
}

static int wal_sync(sqlite3_file *f, int flags)
{
	int rc = flush(of(f));

	return rc ? rc : of(f)->real->pMethods->xSync(of(f)->real, flags);
}

static int wal_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	int rc = flush(of(f));

	return rc ? rc : of(f)->real->pMethods->xTruncate(of(f)->real, size);
}

static int wal_size(sqlite3_file *f, sqlite3_int64 *size)
{
	int rc = flush(of(f));

	return rc ? rc : of(f)->real->pMethods->xFileSize(of(f)->real, size);
}

/* What was gathered belongs to no commit. */
static int wal_close(sqlite3_file *f)
{
	free(of(f)->data);
	of(f)->data = NULL;
	return of(f)->real->pMethods->xClose(of(f)->real);
}

/* --- passed on ------------------------------------------------------------------- */

static int wal_lock(sqlite3_file *f, int level)
{
	return of(f)->real->pMethods->xLock(of(f)->real, level);
}

static int wal_unlock(sqlite3_file *f, int level)
{
	return of(f)->real->pMethods->xUnlock(of(f)->real, level);
}

static int wal_check_lock(sqlite3_file *f, int *reserved)
{
	return of(f)->real->pMethods->xCheckReservedLock(of(f)->real, reserved);
}

static int wal_control(sqlite3_file *f, int op, void *arg)
{
	return of(f)->real->pMethods->xFileControl(of(f)->real, op, arg);
}

static int wal_sector(sqlite3_file *f)
{
	return of(f)->real->pMethods->xSectorSize(of(f)->real);
}

static int wal_character(sqlite3_file *f)
{
	return of(f)->real->pMethods->xDeviceCharacteristics(of(f)->real);
}

static const sqlite3_io_methods methods = {
	.iVersion = 1, /* a WAL has no shared memory of its own */
	.xClose = wal_close,
	.xRead = wal_read,
	.xWrite = wal_write,
	.xTruncate = wal_truncate,
	.xSync = wal_sync,
	.xFileSize = wal_size,
	.xLock = wal_lock,
	.xUnlock = wal_unlock,
	.xCheckReservedLock = wal_check_lock,
	.xFileControl = wal_control,
	.xSectorSize = wal_sector,
	.xDeviceCharacteristics = wal_character,
};

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
	if (!(flags & SQLITE_OPEN_WAL))
		return below->xOpen(below, name, f, flags, out_flags);
	*w = (struct wal){ .real = (sqlite3_file *)(w + 1) };
	rc = below->xOpen(below, name, w->real, flags, out_flags);
	/* SQLite closes what has methods, even after a failure. */
	if (w->real->pMethods)
		f->pMethods = &methods;
	return rc;
}

static const char *make(const char *below)
{
	sqlite3_vfs *under = sqlite3_vfs_find(below);
	struct gatherer *g = under ? calloc(1, sizeof(*g)) : NULL;

	if (!g)
		return NULL;
	/* All but opening is the one's below: deleting, paths, time. */
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
		name = found ? found->zName : make(below);
	}
	pthread_mutex_unlock(&one);
	return name;
}
