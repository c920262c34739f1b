#include "storage/wal_vfs.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"

enum {
	WAL_HEADER = 32,
	FRAME_HEADER = 24,
	ROOM = 128 << 10, /* maximum number of bytes that are gathered for one file */
};

struct gatherer {
	sqlite3_vfs vfs;
	const char *below;
	char name[64];
};

/* A file of this VFS is a file of the VFS below, with some methods replaced. The struct `wal`
 * holds the replaced methods, and lies in memory directly after the file struct of the VFS
 * below. */
struct wal {
	sqlite3_io_methods methods;
	const sqlite3_io_methods *below;
	char *data; /* bytes not yet written, or NULL */
	int n;
	sqlite3_int64 at; /* place of data[0] in the file */
	bool commits; /* the next page to be written ends a transaction */
	int64_t syncs, sync_ns;
};

static struct wal *of(sqlite3_file *f)
{
	return (struct wal *)f->pMethods;
}

/* --- gathering ------------------------------------------------------------------ */

static int wal_vfs_flush(sqlite3_file *f)
{
	struct wal *w = of(f);
	int n = w->n;

	w->n = 0;
	w->commits = false;
	return n ? w->below->xWrite(f, w->data, n, w->at) : SQLITE_OK;
}

/* Whether a frame ends a transaction. The second number of such a frame's header is not 0. */
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
	/* A page that is written again in its transaction may still be among the gathered
	 * bytes. */
	if (w->n && (at < w->at || at > w->at + w->n || at + n > w->at + ROOM))
		rc = wal_vfs_flush(f);
	if (rc == SQLITE_OK && (n > ROOM || at < WAL_HEADER)) {
		rc = wal_vfs_flush(f);
		return rc ? rc : w->below->xWrite(f, data, n, at);
	}
	if (rc != SQLITE_OK)
		return rc;
	if (w->n == 0)
		w->at = at;
	memcpy(w->data + (at - w->at), data, (size_t)n);
	if (at + n > w->at + w->n)
		w->n = (int)(at + n - w->at);
	w->commits = n == FRAME_HEADER && says_commit(data);
	return ends ? wal_vfs_flush(f) : SQLITE_OK;
}

static int wal_read(sqlite3_file *f, void *data, int n, sqlite3_int64 at)
{
	struct wal *w = of(f);
	int rc = at < w->at + w->n && at + n > w->at ? wal_vfs_flush(f) : SQLITE_OK;

	return rc ? rc : w->below->xRead(f, data, n, at);
}

static int wal_sync(sqlite3_file *f, int flags)
{
	struct wal *w = of(f);
	int64_t began;
	int rc = wal_vfs_flush(f);

	if (rc)
		return rc;
	began = clock_raw_ns();
	rc = w->below->xSync(f, flags);
	w->syncs++;
	w->sync_ns += clock_raw_ns() - began;
	return rc;
}

static int wal_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	int rc = wal_vfs_flush(f);

	return rc ? rc : of(f)->below->xTruncate(f, size);
}

static int wal_size(sqlite3_file *f, sqlite3_int64 *size)
{
	int rc = wal_vfs_flush(f);

	return rc ? rc : of(f)->below->xFileSize(f, size);
}

/* Frames that are still gathered belong to no commit, and are dropped. */
static int wal_close(sqlite3_file *f)
{
	free(of(f)->data);
	of(f)->data = NULL;
	return of(f)->below->xClose(f);
}

/* --- the file of the database -------------------------------------------------------- */

/* SQLite locks single bytes of the shared memory ("WAL-mode File Format"). A process locks byte
 * 1 to copy the WAL into the database. A process locks byte 2 to read the WAL and make the
 * shared memory anew. */
enum { RECOVER_BYTE = 2 };

/* Takes no exclusive lock on byte 2, and passes all other locks to the VFS below. The lock of
 * byte 2 keeps no writer out, since byte 0 ensures that only one process makes the shared
 * memory anew. If byte 2 is locked, a reader without a busy timeout, such as `sqlite3`,
 * immediately fails with "database is locked". If only byte 0 is locked, SQLite tries again for
 * ten seconds. */
static int db_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
	if (flags & SQLITE_SHM_EXCLUSIVE) {
		if (at + n - 1 == RECOVER_BYTE)
			n--;
		if (n == 0)
			return SQLITE_OK;
	}
	return of(f)->below->xShmLock(f, at, n, flags);
}

int64_t wal_vfs_syncs(sqlite3_file *f, int64_t *ns)
{
	if (!f || !f->pMethods || f->pMethods->xSync != wal_sync)
		return 0;
	*ns = of(f)->sync_ns;
	return of(f)->syncs;
}

/* --- the VFS ---------------------------------------------------------------------- */

/* Fills w->methods with the methods of the VFS below, and replaces some of them. A WAL and a
 * database's own file get different replacements. */
static void set_methods(struct wal *w, bool is_wal)
{
	sqlite3_io_methods *m = &w->methods;

	*m = *w->below;
	if (!is_wal) {
		m->iVersion = 2; /* without mmap, which the store does not use */
		m->xShmLock = db_shm_lock;
		return;
	}
	m->iVersion = 1; /* a WAL has no shared memory of its own */
	m->xClose = wal_close;
	m->xRead = wal_read;
	m->xWrite = wal_write;
	m->xTruncate = wal_truncate;
	m->xSync = wal_sync;
	m->xFileSize = wal_size;
}

static int gatherer_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags,
			 int *out_flags)
{
	sqlite3_vfs *below = sqlite3_vfs_find(((struct gatherer *)vfs)->below);
	struct wal *w;
	int rc;

	f->pMethods = NULL;
	if (!below)
		return SQLITE_CANTOPEN;
	rc = below->xOpen(below, name, f, flags, out_flags);
	if (!(flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_DB)) || !f->pMethods)
		return rc;
	w = (struct wal *)((char *)f + below->szOsFile);
	*w = (struct wal){ .below = f->pMethods };
	set_methods(w, flags & SQLITE_OPEN_WAL);
	f->pMethods = &w->methods;
	return rc;
}

static const char *wal_vfs_make(const char *below)
{
	sqlite3_vfs *under = sqlite3_vfs_find(below);
	struct gatherer *g = under ? calloc(1, sizeof(*g)) : NULL;

	if (!g)
		return NULL;
	/* The methods of the VFS below also serve the new VFS, for example to delete files. */
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
