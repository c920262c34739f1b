#include "storage/generation.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/inside.h"

enum {
	WAL_HEADER = 32,
	WAL_PAGE_SIZE = 8, /* where the header has the size of a page */
	WAL_SALTS = 16, /* and the salts of its frames */
	FRAME_HEADER = 24,
	FRAME_SALTS = 8,
	SALTS = 8, /* bytes */
	PAGE_CHANGES = 24, /* the change counter in page 1 */
	INDEX_REGION = 32768, /* bytes of -shm that are mapped at once */
	INDEX_HEADER = 48, /* bytes, twice: they differ while it is written */
	INDEX_PAGE_SIZE = 14, /* 1: 65536 */
	INDEX_SALTS = 32,
	INDEX_FRAMES = 16, /* how many frames are valid */
	INDEX_COPIED = 96, /* how many of these are in the file */
	INDEX_BEGUN = 128, /* and how many a checkpoint began to copy there */
};

static uint32_t number_at(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* --- a WAL that lies beside a file ------------------------------------------------ */

void generation_open(struct generation *g, const char *wal_path)
{
	memset(g, 0, sizeof(*g));
	g->fd = open(wal_path, O_RDONLY | O_CLOEXEC);
	if (g->fd >= 0 &&
	    pread(g->fd, g->header, sizeof(g->header), 0) != sizeof(g->header))
		generation_close(g);
}

void generation_close(struct generation *g)
{
	if (g->fd >= 0)
		close(g->fd);
	g->fd = -1;
}

static bool has_gone(const struct generation *g)
{
	unsigned char now[WAL_HEADER];
	struct statx x;

	return pread(g->fd, now, sizeof(now), 0) != sizeof(now) ||
	       memcmp(now, g->header, sizeof(now)) != 0 ||
	       statx(g->fd, "", AT_EMPTY_PATH, STATX_NLINK, &x) || x.stx_nlink == 0;
}

/* Reads the frame at `at`, with the beginning of its page: false behind the last one.  A
 * frame that was not committed may be among them, of which no harm comes. */
static bool next_frame(const struct generation *g, off_t at,
		       unsigned char frame[FRAME_HEADER + PAGE_CHANGES + 4])
{
	const int size = FRAME_HEADER + PAGE_CHANGES + 4;

	return pread(g->fd, frame, (size_t)size, at) == size &&
	       memcmp(frame + FRAME_SALTS, g->header + WAL_SALTS, SALTS) == 0;
}

static enum generation_of look_through(const struct generation *g, uint32_t changes)
{
	const uint32_t page = number_at(g->header + WAL_PAGE_SIZE);
	unsigned char frame[FRAME_HEADER + PAGE_CHANGES + 4];
	enum generation_of found = GENERATION_UNKNOWN;
	off_t at = WAL_HEADER;

	if (page < 512 || page > 65536)
		return found;
	for (; next_frame(g, at, frame); at += FRAME_HEADER + (off_t)page) {
		uint32_t n = number_at(frame + FRAME_HEADER + PAGE_CHANGES);

		if (number_at(frame) != 1)
			continue;
		if (n == changes || (found == GENERATION_UNKNOWN && n == changes + 1))
			return GENERATION_OF_FILE;
		found = GENERATION_OF_OTHER;
	}
	return found;
}

enum generation_of generation_judge(const struct generation *g, uint32_t changes)
{
	enum generation_of found;

	if (g->fd < 0)
		return GENERATION_UNKNOWN;
	found = look_through(g, changes);
	return has_gone(g) ? GENERATION_GONE : found;
}

/* --- the WAL that is written ---------------------------------------------------------- */

/* The index of the WAL, which SQLite has mapped: no system call. */
static const volatile void *index_of(const struct store *s)
{
	volatile void *index = NULL;
	sqlite3_file *file = NULL;

	if (sqlite3_file_control(s->db, "main", SQLITE_FCNTL_FILE_POINTER, &file) ||
	    !file || !file->pMethods || file->pMethods->iVersion < 2 ||
	    file->pMethods->xShmMap(file, 0, INDEX_REGION, 0, &index) != SQLITE_OK)
		return NULL;
	return index;
}

static uint32_t index_number(const volatile void *index, size_t at)
{
	return __atomic_load_n((const volatile uint32_t *)index + at / 4,
			       __ATOMIC_ACQUIRE);
}

static void generation_extent(const struct store *s, struct generation_extent *e)
{
	unsigned char header[2 * INDEX_HEADER];
	const volatile unsigned char *index = index_of(s);
	uint16_t page;

	memset(e, 0, sizeof(*e));
	if (!index)
		return;
	for (size_t i = 0; i < sizeof(header); i++)
		header[i] = index[i];
	if (memcmp(header, header + INDEX_HEADER, INDEX_HEADER) != 0)
		return;
	memcpy(&e->frames, header + INDEX_FRAMES, sizeof(e->frames));
	memcpy(&page, header + INDEX_PAGE_SIZE, sizeof(page));
	memcpy(e->salts, header + INDEX_SALTS, SALTS);
	e->page = page == 1 ? 65536 : page;
}

static bool same_salts(const struct generation_extent *a,
		       const struct generation_extent *b)
{
	return memcmp(a->salts, b->salts, SALTS) == 0;
}

/* A file that was cut off has no last frame, or a hole there once it has grown again; one
 * that another was copied into has there a frame with the salts of another generation. */
static bool has_last_frame(const struct store *s, const struct generation_extent *e)
{
	unsigned char salts[SALTS];
	sqlite3_file *wal = NULL;
	sqlite3_int64 at;
	int rc;

	if (!e->frames)
		return true;
	if (sqlite3_file_control(s->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal) ||
	    !wal || !wal->pMethods)
		return true;
	at = WAL_HEADER + (sqlite3_int64)(e->frames - 1) * (FRAME_HEADER + e->page);
	rc = wal->pMethods->xRead(wal, salts, SALTS, at + FRAME_SALTS);
	if (rc == SQLITE_IOERR_SHORT_READ)
		return false;
	/* A disk that fails is told of by what reads next. */
	return rc != SQLITE_OK || memcmp(salts, e->salts, SALTS) == 0;
}

bool generation_holds(const struct store *s, struct generation_extent *before)
{
	struct generation_extent now;

	/* Not known while the index is written: what was seen before is looked at later. */
	generation_extent(s, &now);
	if (!now.page)
		return true;
	if (before->frames < now.frames && same_salts(before, &now) &&
	    !has_last_frame(s, before))
		return false;
	*before = now;
	return has_last_frame(s, &now);
}

bool generation_rests(const struct store *s, struct generation_copied *c)
{
	const volatile void *index = index_of(s);

	memset(c, 0, sizeof(*c));
	if (!index)
		return false;
	c->begun = index_number(index, INDEX_BEGUN);
	c->done = index_number(index, INDEX_COPIED);
	return c->begun == c->done;
}

int generation_copied(const struct store *s)
{
	const volatile void *index = index_of(s);

	return index ? (int)index_number(index, INDEX_COPIED) : 0;
}

/* SQLite writes the counter that it has read page 1 with, and one more: not one more than
 * it wrote last itself.  Undoing a change of page 1 makes it look again, and
 * leaves the page to be written. */
int generation_begin(struct store *s, struct fault *f)
{
	static const char raise[] = "SAVEPOINT generation; PRAGMA user_version = 0;"
				    "ROLLBACK TO generation; RELEASE generation";
	const volatile void *index = s->ground.db ? index_of(s) : NULL;

	if (!index ||
	    index_number(index, INDEX_FRAMES) != index_number(index, INDEX_COPIED))
		return 0;
	return store_exec(s, raise, f);
}
