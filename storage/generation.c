#include "storage/generation.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/store_inside.h"
#include "storage/words.h"

enum {
	WAL_HEADER = 32,
	WAL_PAGE_SIZE = 8, /* offset of the page size in the header */
	WAL_SALTS = 16, /* and of the salts of its frames */
	WAL_SUM = 24, /* and of the checksum of the bytes before */
	FRAME_HEADER = 24,
	FRAME_COMMITS = 4, /* not 0 in the last frame of a transaction */
	FRAME_SALTS = 8,
	FRAME_SUM = 16, /* offset of the checksum over all frames up to this one */
	SALTS = 8, /* bytes */
	FRAME_LOOK = FRAME_HEADER + HEADER_MARK + 4, /* bytes of a frame that are read */
	INDEX_REGION = 32768, /* bytes of -shm that are mapped at once */
	INDEX_HEADER = 48, /* bytes, twice: the copies differ during a write */
	INDEX_PAGE_SIZE = 14, /* 1: 65536 */
	INDEX_SALTS = 32,
	INDEX_FRAMES = 16, /* how many frames are valid */
	INDEX_COPIED = 96, /* how many of these are in the file */
	INDEX_BEGUN = 128, /* and how many a checkpoint began to copy there */
};

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

/* Reads the frame at `at`, with the beginning of its page: false behind the last frame.
 * Frames that were not committed are read too. */
static bool next_frame(const struct generation *g, off_t at,
		       unsigned char frame[FRAME_LOOK])
{
	return pread(g->fd, frame, FRAME_LOOK, at) == FRAME_LOOK &&
	       memcmp(frame + FRAME_SALTS, g->header + WAL_SALTS, SALTS) == 0;
}

/* Findings about the frames that were looked at. */
struct seen {
	const struct generation_file *file;
	bool page1, marked, committed;
	bool fits, strange; /* by the counters; by what no WAL of this file has */
};

/* Compares the mark of a page 1 with the file's; page 1 had no mark before the file got
 * one. */
static void see_mark(struct seen *seen, uint32_t mark)
{
	if (mark == seen->file->mark)
		seen->marked = true;
	else if (mark || seen->marked)
		seen->strange = true;
}

/* A WAL fits a file when its first page 1 has the file's counter plus one, or any page 1
 * has the file's counter, since those frames are in the file already.  A first page 1
 * that is further ahead belongs to another file. */
static void see_page1(struct seen *seen, const unsigned char *page)
{
	const int32_t ahead =
		(int32_t)(number_at(page + HEADER_CHANGES) - seen->file->changes);

	if (!seen->page1 && ahead > 1)
		seen->strange = true;
	if (ahead == 0 || (!seen->page1 && ahead == 1))
		seen->fits = true;
	seen->page1 = true;
	if (seen->file->mark)
		see_mark(seen, number_at(page + HEADER_MARK));
}

/* Judges the WAL by its frames.  Frames that no transaction has committed belong to no
 * file.  A file of an older version has no mark, and its WAL need not hold page 1. */
static enum generation_of generation_of_frames(const struct seen *seen)
{
	if (seen->strange || (seen->page1 && !seen->fits))
		return GENERATION_OF_OTHER;
	if (seen->file->mark && seen->committed && !seen->marked)
		return GENERATION_OF_OTHER;
	return seen->page1 ? GENERATION_OF_FILE : GENERATION_UNKNOWN;
}

static enum generation_of look_through(const struct generation *g,
				       const struct generation_file *file, off_t end)
{
	const uint32_t page = number_at(g->header + WAL_PAGE_SIZE);
	unsigned char frame[FRAME_LOOK];
	struct seen seen = { .file = file };

	if (page < 512 || page > 65536)
		return GENERATION_UNKNOWN;
	for (off_t at = WAL_HEADER; at < end && next_frame(g, at, frame);
	     at += FRAME_HEADER + (off_t)page) {
		seen.committed |= number_at(frame + FRAME_COMMITS) != 0;
		if (number_at(frame) == 1)
			see_page1(&seen, frame + FRAME_HEADER);
	}
	return generation_of_frames(&seen);
}

/* Continues the checksum over `n` bytes, as words in the byte order that the last bit of
 * the WAL's magic number names. */
static void add_sum(const struct generation *g, const unsigned char *data, size_t n,
		    uint32_t sum[2])
{
	for (size_t i = 0; i < n; i += 8) {
		uint32_t a = number_at(data + i), b = number_at(data + i + 4);

		if (!(g->header[3] & 1)) {
			a = __builtin_bswap32(a);
			b = __builtin_bswap32(b);
		}
		sum[0] += a + sum[1];
		sum[1] += b + sum[0];
	}
}

static bool is_sum(const unsigned char *at, const uint32_t sum[2])
{
	return number_at(at) == sum[0] && number_at(at + 4) == sum[1];
}

/* The end of the frames with correct checksums: frames behind it were left by a power
 * failure or by a transaction that was undone, and SQLite ignores them. */
static off_t end_of_sound(const struct generation *g)
{
	const uint32_t page = number_at(g->header + WAL_PAGE_SIZE);
	unsigned char frame[FRAME_HEADER + 65536];
	const ssize_t size = FRAME_HEADER + (ssize_t)page;
	uint32_t sum[2] = { 0 };
	off_t at = WAL_HEADER;

	add_sum(g, g->header, WAL_SUM, sum);
	if (page < 512 || page > 65536 || page % 8 || !is_sum(g->header + WAL_SUM, sum))
		return 0;
	for (;; at += size) {
		if (pread(g->fd, frame, (size_t)size, at) != size ||
		    memcmp(frame + FRAME_SALTS, g->header + WAL_SALTS, SALTS) != 0)
			return at;
		add_sum(g, frame, FRAME_SALTS, sum);
		add_sum(g, frame + FRAME_HEADER, page, sum);
		if (!is_sum(frame + FRAME_SUM, sum))
			return at;
	}
}

enum generation_of generation_judge(const struct generation *g,
				    const struct generation_file *file)
{
	enum generation_of found;

	if (g->fd < 0)
		return GENERATION_UNKNOWN;
	found = look_through(g, file, INT64_MAX);
	/* Only a WAL that seems wrong is read as a whole. */
	if (found == GENERATION_OF_OTHER)
		found = look_through(g, file, end_of_sound(g));
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

/* Whether the last frame is in its place.  A WAL that was cut off has none, or a hole
 * there once it has grown again; a WAL that another file was copied over has a frame with
 * other salts there. */
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
	/* A read error counts as no change: the next reader reports it. */
	return rc != SQLITE_OK || memcmp(salts, e->salts, SALTS) == 0;
}

bool generation_holds(const struct store *s, struct generation_extent *before)
{
	struct generation_extent now;

	/* Unknown while the index is being written: the older extent is checked at the
	 * next look. */
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

int generation_waiting(const struct store *s)
{
	const volatile void *index = index_of(s);

	return index ? (int)(index_number(index, INDEX_FRAMES) -
			     index_number(index, INDEX_COPIED))
		     : 0;
}

/* SQLite increments the counter that it read with page 1, not the counter that it wrote
 * last.  Undoing a change of page 1 makes SQLite read the counter again, and leaves page
 * 1 to be written. */
int generation_begin(struct store *s, struct fault *f)
{
	const volatile void *index = s->ground.db ? index_of(s) : NULL;

	if (!index ||
	    index_number(index, INDEX_FRAMES) != index_number(index, INDEX_COPIED))
		return 0;
	return store_exec(s, SQL_READ_PAGE_1, f);
}
