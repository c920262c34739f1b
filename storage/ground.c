#include "storage/ground.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "storage/store_inside.h"
#include "storage/words.h"

enum {
	WAL_HEADER = 32,
	WAL_PAGE_SIZE = 8, /* offset of the page size in the header */
	WAL_SALTS = 16, /* offset of the salts that all valid frames repeat */
	WAL_SUM = 24, /* offset of the checksum over the header's bytes 0 to 23 */
	FRAME_HEADER = 24,
	FRAME_COMMITS = 4, /* offset of a field that is 0 except in a transaction's last
			      frame */
	FRAME_SALTS = 8,
	FRAME_SUM = 16, /* offset of the checksum over all frames up to this frame */
	SALTS = 8, /* size of the two salts together */
	INDEX_REGION = 32768, /* bytes of -shm that SQLite maps at once */
	INDEX_HEADER = 48, /* size of one of the header's two copies */
	INDEX_PAGE_SIZE = 14, /* offset of the page size; the value 1 means 65536 */
	INDEX_SALTS = 32,
	INDEX_FRAMES = 16, /* offset of the number of valid frames */
	INDEX_COPIED = 96, /* offset of the number of frames copied into the file */
	INDEX_BEGUN = 128, /* offset of the number of frames whose copying began */
	HEADER = 100, /* size of a database file's header */
	HEADER_PAGE_SIZE = 16, /* offset of the page size; the value 1 means 65536 */
	HEADER_PAGES = 28, /* offset of the file's number of pages */
	/* A check that finds trouble is repeated, up to LOOKS runs, since page 1 may be half
	 * written. */
	LOOKS = 4,
	WAL_LOOKS = 50, /* tries to read a WAL while other processes write it */
};

static const struct timespec look_pause = { .tv_nsec = 1000000 };

/* --- headers -------------------------------------------------------------------- */

/* The header of a database file.  All members are 0 if the file is too short for a header. */
struct header {
	uint32_t mark, changes; /* the mark and the change counter of the file */
	int64_t size; /* page size times number of pages */
};

static int ground_read_header(const struct store *s, struct header *h)
{
	unsigned char bytes[HEADER] = { 0 };
	sqlite3_file *file = NULL;
	int page, rc = sqlite3_file_control(s->db, "main", SQLITE_FCNTL_FILE_POINTER,
					    &file);

	if (rc != SQLITE_OK || !file || !file->pMethods)
		return rc ? rc : SQLITE_CANTOPEN;
	rc = file->pMethods->xRead(file, bytes, HEADER, 0);
	h->mark = number_at(bytes + HEADER_MARK);
	h->changes = number_at(bytes + HEADER_CHANGES);
	page = bytes[HEADER_PAGE_SIZE] << 8 | bytes[HEADER_PAGE_SIZE + 1];
	h->size = (int64_t)number_at(bytes + HEADER_PAGES) * (page == 1 ? 65536 : page);
	return rc == SQLITE_IOERR_SHORT_READ ? SQLITE_OK : rc;
}

/* --- a WAL beside a database file ------------------------------------------------- */

struct generation {
	int fd; /* descriptor of the WAL, or -1 */
	unsigned char header[WAL_HEADER];
};

static void generation_close(struct generation *g)
{
	if (g->fd >= 0)
		close(g->fd);
	g->fd = -1;
}

/* Opens the WAL and reads its header. Called before the change counter of the database file is
 * read. */
static void generation_open(struct generation *g, const char *wal_path)
{
	memset(g, 0, sizeof(*g));
	g->fd = open(wal_path, O_RDONLY | O_CLOEXEC);
	if (g->fd >= 0 &&
	    pread(g->fd, g->header, sizeof(g->header), 0) != sizeof(g->header))
		generation_close(g);
}

/* Whether the WAL was unlinked, or its header was rewritten, since generation_open(). */
static bool has_gone(const struct generation *g)
{
	unsigned char now[WAL_HEADER];
	struct statx x;

	return pread(g->fd, now, sizeof(now), 0) != sizeof(now) ||
	       memcmp(now, g->header, sizeof(now)) != 0 ||
	       statx(g->fd, "", AT_EMPTY_PATH, STATX_NLINK, &x) || x.stx_nlink == 0;
}

/* Adds `n` bytes to the checksum, as 32-bit words. The last bit of the WAL's magic number names
 * the byte order of the words. */
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

/* Reads the first `n` bytes of the frame at the offset `at`. Returns false if there is no
 * further frame. Frames that were not committed are read, too. `sum` is the checksum of the
 * earlier frames, or NULL. If `sum` is not NULL, `n` must be the size of a whole frame, and the
 * function returns false for a frame with a wrong checksum. */
static bool next_frame(const struct generation *g, off_t at, unsigned char *frame,
		       size_t n, uint32_t *sum)
{
	if (pread(g->fd, frame, n, at) != (ssize_t)n ||
	    memcmp(frame + FRAME_SALTS, g->header + WAL_SALTS, SALTS) != 0)
		return false;
	if (!sum)
		return true;
	add_sum(g, frame, FRAME_SALTS, sum);
	add_sum(g, frame + FRAME_HEADER, n - FRAME_HEADER, sum);
	return is_sum(frame + FRAME_SUM, sum);
}

/* Facts about the frames of a WAL that were read so far. */
struct seen {
	bool page1, committed;
	bool fits, strange; /* fits: a counter fits the file; strange: a page 1 belongs to
			       another file */
};

/* A WAL may hold several copies of page 1. A WAL fits a file if its first copy has the file's
 * change counter plus one. A WAL also fits if any copy has the file's change counter, because
 * the frames up to this copy are then in the file already. A first copy with a higher counter,
 * or a copy with another mark, belongs to another file. */
static void see_page1(struct seen *seen, const struct header *file,
		      const unsigned char *page)
{
	const int32_t ahead = (int32_t)(number_at(page + HEADER_CHANGES) - file->changes);

	if (number_at(page + HEADER_MARK) != file->mark || (!seen->page1 && ahead > 1))
		seen->strange = true;
	if (ahead == 0 || (!seen->page1 && ahead == 1))
		seen->fits = true;
	seen->page1 = true;
}

/* Whether the frames of the WAL belong to another file. If the WAL has neither a page 1 nor a
 * committed frame, returns false. If the WAL has committed frames but no page 1, returns true.
 * If `sound` is true, frames are read only up to the first wrong checksum. A power failure or
 * an undone transaction has left the frames after a wrong checksum, and SQLite ignores them. */
static bool is_of_other(const struct generation *g, const struct header *file, bool sound)
{
	const size_t page = number_at(g->header + WAL_PAGE_SIZE);
	const size_t n = FRAME_HEADER + (sound ? page : HEADER_MARK + 4);
	unsigned char frame[FRAME_HEADER + 65536];
	struct seen seen = { 0 };
	uint32_t sum[2] = { 0 };

	add_sum(g, g->header, WAL_SUM, sum);
	if (page < 512 || page > 65536 || page % 8 ||
	    (sound && !is_sum(g->header + WAL_SUM, sum)))
		return false;
	for (off_t at = WAL_HEADER; next_frame(g, at, frame, n, sound ? sum : NULL);
	     at += FRAME_HEADER + (off_t)page) {
		seen.committed |= number_at(frame + FRAME_COMMITS) != 0;
		if (number_at(frame) == 1)
			see_page1(&seen, file, frame + FRAME_HEADER);
	}
	return seen.strange || (seen.page1 ? !seen.fits : seen.committed);
}

/* Whether the WAL belongs to another file. First reads only the beginning of each frame, and
 * then whole frames if the WAL seems to belong to another file. Reads the WAL again if the
 * whole frames also seem to belong to another file, since page 1 may be half written. Also
 * reads the WAL again if the WAL begins anew meanwhile. */
static bool wal_is_of_other(const struct store *s)
{
	bool other = false, gone = false;
	struct generation g;
	struct header file;

	for (int i = 0; i < WAL_LOOKS; i++) {
		if (i)
			nanosleep(&look_pause, NULL);
		generation_open(&g, s->ground.wal_path);
		other = g.fd >= 0 && ground_read_header(s, &file) == SQLITE_OK &&
			is_of_other(&g, &file, false) && is_of_other(&g, &file, true);
		gone = g.fd >= 0 && has_gone(&g);
		generation_close(&g);
		if (!other && !gone)
			break;
	}
	return other && !gone;
}

/* --- the WAL that SQLite has open ----------------------------------------------------- */

/* The index of the WAL. SQLite has mapped the index into memory, so a read of the index needs
 * no system call. */
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

/* `begun` is the number of the WAL's frames that a checkpoint has begun to copy into the file.
 * `done` is the number of frames that the checkpoint has copied. */
struct generation_copied {
	uint32_t begun, done;
};

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

/* Whether the WAL contains the last valid frame at the frame's offset. If the WAL was
 * truncated, this offset is beyond the end of the WAL. If the truncated WAL has grown again,
 * the WAL has a hole at this offset. If another file was copied over the WAL, the frame at this
 * offset has other salts. */
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
	/* A read error does not count as a change.  The next reader reports the error. */
	return rc != SQLITE_OK || memcmp(salts, e->salts, SALTS) == 0;
}

/* Whether the open WAL still holds all valid frames. The WAL lacks frames if the WAL was
 * truncated, or if another file was copied over the WAL. `before` holds the extent of the WAL
 * at the last check, and receives the present extent. If the WAL was truncated after the last
 * check and then got newer frames, the WAL has a hole where the last frame of `before` was. The
 * function costs one short read, or two short reads after a commit. */
static bool generation_holds(const struct store *s, struct generation_extent *before)
{
	struct generation_extent now;

	/* While the index is being written, the extent is unknown. The next check then still
	 * has the older extent. */
	generation_extent(s, &now);
	if (!now.page)
		return true;
	if (before->frames < now.frames && same_salts(before, &now) &&
	    !has_last_frame(s, before))
		return false;
	*before = now;
	return has_last_frame(s, &now);
}

/* Returns false while a checkpoint runs, or after a checkpoint that died halfway. During a
 * checkpoint, or after a checkpoint that died, the file may lack pages that the file's header
 * counts. */
static bool generation_rests(const struct store *s, struct generation_copied *c)
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

/* SQLite increments the change counter of the page 1 that it last read, not the counter that it
 * last wrote. SQL_READ_PAGE_1 changes page 1 and undoes the change. Then SQLite reads page 1
 * again, and still writes page 1 at the COMMIT. */
int generation_begin(struct store *s, struct fault *f)
{
	const volatile void *index = s->ground.db ? index_of(s) : NULL;

	if (!index ||
	    index_number(index, INDEX_FRAMES) != index_number(index, INDEX_COPIED))
		return 0;
	return store_exec(s, SQL_READ_PAGE_1, f);
}

/*
 * journal - a rollback journal beside state.db.
 *
 * SQLite writes the pages of a `state.db-journal` back into state.db before SQLite reads
 * anything else. The state is in WAL mode, so the state's own journal exists only while the
 * state is made, or after a person has switched the mode by hand. Any other journal was put
 * beside state.db by another program, for example by a checkout of a foreign branch or by
 * unpacking an archive.
 */

enum { ONE_PAGE = 4096 };

/* Whether SQLite would write the pages of a journal back into a finished state.db. SQLite
 * ignores a journal that begins with a zero byte. A database of at most one page is still being
 * made, so a journal beside such a database is the database's own journal. */
static bool has_journal(const struct store *s)
{
	char journal[4096], first = 0;
	struct stat st;
	int fd;

	if (snprintf(journal, sizeof(journal), "%s-journal", s->path) >=
		    (int)sizeof(journal) ||
	    stat(s->path, &st) || st.st_size <= ONE_PAGE)
		return false;
	fd = open(journal, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	if (read(fd, &first, 1) < 0)
		first = 0;
	close(fd);
	return first;
}

static const char file_is_cut[] = "was cut off",
		  log_is_cut[] = "had its -wal cut off or written over";

int store_mark(sqlite3 *db, struct fault *f)
{
	uint32_t mark = 0;
	char sql[48];

	while (!mark) {
		if (getrandom(&mark, sizeof(mark), 0) != sizeof(mark))
			abort();
		mark &= 0x7fffffff;
	}
	snprintf(sql, sizeof(sql), SQL_SET_MARK, (unsigned)mark);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return fault_set(f, FAULT_UNAVAILABLE, "", "cannot mark the file: %s",
				 sqlite3_errmsg(db));
	return 0;
}

/* --- the file of a WAL -------------------------------------------------------------- */

/* Reads the device, the inode number and the size of a file, but not its times. Since Linux
 * 6.13, a stat() that reads a file's times makes the next write update these times. After such
 * a stat(), each commit would have to write the inode, too. */
static int ground_look_at(const char *path, struct stat *st)
{
	struct statx x;

	if (statx(AT_FDCWD, path, 0, STATX_INO | STATX_SIZE, &x))
		return -1;
	*st = (struct stat){ .st_dev = makedev(x.stx_dev_major, x.stx_dev_minor),
			     .st_ino = x.stx_ino,
			     .st_size = (off_t)x.stx_size };
	return 0;
}

static bool wal_is_empty(const struct store *s)
{
	struct stat st;

	return ground_look_at(s->ground.wal_path, &st) || st.st_size == 0;
}

static int refuse_wal(struct fault *f, const char *dir)
{
	fault_set(f, FAULT_IO, "",
		  "state.db-wal in %.110s does not belong to the "
		  "state.db beside it: a person, git or an archive put "
		  "one of them there",
		  dir);
	return fault_hint(f, "nothing is damaged yet: copy both files. If `sqlite3` "
			     "changed state.db, end it or open state.db in it once; if "
			     "state.db was replaced, undo that or `cadre restore`; "
			     "else move state.db-wal away");
}

static int refuse_journal(struct fault *f, const char *dir)
{
	fault_set(f, FAULT_IO, "",
		  "state.db-journal in %.110s does not belong to the "
		  "state.db beside it: a person, git, an archive or a "
		  "killed `sqlite3` left it",
		  dir);
	/* A foreign journal damages a state when SQLite writes the journal back.  The state's
	 * own journal damages the state when SQLite does not write the journal back. */
	return fault_hint(f, "nothing is damaged yet: copy both files; if a killed "
			     "`sqlite3` left the journal, open state.db once with "
			     "`sqlite3`, else move state.db-journal away");
}

int ground_vacant(const struct store *s, struct fault *f)
{
	if (wal_is_empty(s))
		return 0;
	fault_set(f, FAULT_CONFLICT, "",
		  "state.db is gone from %.110s, but its log "
		  "state.db-wal is there",
		  s->dir);
	return fault_hint(f, "put state.db back, or `cadre restore` a backup; to begin "
			     "with a new state, move state.db-wal and state.db-shm away");
}

int ground_admit(struct store *s, struct fault *f)
{
	if (has_journal(s))
		return refuse_journal(f, s->dir);
	return !wal_is_empty(s) && wal_is_of_other(s) ? refuse_wal(f, s->dir) : 0;
}

/* --- where the files are -------------------------------------------------------------- */

/* Writes into state.lock that a state exists. Later, a process that opens the state reads this
 * text. If state.db is empty, the text shows that state.db was truncated, and is not a new
 * file. */
static int ground_sign(const struct store *s, struct fault *f)
{
	static const char text[] = "a state\n";
	const ssize_t n = sizeof(text) - 1;
	struct stat st;

	if (fstat(s->queue.lock, &st) || st.st_size > 0 ||
	    (pwrite(s->queue.lock, text, (size_t)n, 0) == n &&
	     fdatasync(s->queue.lock) == 0))
		return 0;
	return fault_set(f, FAULT_UNAVAILABLE, "", "cannot write state.lock: %s",
			 strerror(errno));
}

static ino_t inode_at(const char *path, dev_t dev)
{
	struct stat st;

	return ground_look_at(path, &st) == 0 && st.st_dev == dev ? st.st_ino : 0;
}

int ground_note(struct store *s, struct fault *f)
{
	struct ground *g = &s->ground;
	struct header h = { 0 };
	int moved = 0, rc;
	struct stat st;

	/* A read makes SQLite open the WAL, if SQLite has not opened it yet. */
	if (store_number(s, SQL_VERSION, f) < 0)
		return f->code;
	if ((rc = ground_read_header(s, &h)) != SQLITE_OK)
		return store_fault(s, rc, "open", f);
	sqlite3_file_control(s->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
	if (ground_look_at(s->path, &st) || moved || (g->db && g->db != st.st_ino))
		return fault_set(f, FAULT_UNAVAILABLE, "",
				 "%.150s was moved while it was opened", s->path);
	g->dev = st.st_dev;
	g->db = st.st_ino;
	g->wal = inode_at(g->wal_path, g->dev);
	g->shm = inode_at(g->shm_path, g->dev);
	g->mark = h.mark;
	g->changes = h.changes;
	g->size = st.st_size;
	return ground_sign(s, f);
}

static const char *db_trouble(const struct store *s, off_t *size)
{
	const struct ground *g = &s->ground;
	struct stat st;

	*size = 0;
	if (ground_look_at(s->path, &st) == 0) {
		*size = st.st_size;
		return st.st_dev == g->dev && st.st_ino == g->db ? NULL
								 : "is another file now";
	}
	if (errno != ENOENT && errno != ENOTDIR)
		return "cannot be reached any more";
	return access(s->dir, F_OK) ? "is gone with its folder" : "is gone";
}

static const char *look_at_log(struct store *s)
{
	struct ground *g = &s->ground;
	ino_t wal = inode_at(g->wal_path, g->dev), shm = inode_at(g->shm_path, g->dev);

	if (wal == g->wal && shm == g->shm)
		return generation_holds(s, &g->extent) ? NULL : log_is_cut;
	return wal && shm ? "has another -wal or -shm now" : "has lost its -wal or -shm";
}

/* Checks the WAL that this process has open, even if the WAL was unlinked. */
static const char *look_at_open_log(struct store *s)
{
	return generation_holds(s, &s->ground.extent) ? NULL : log_is_cut;
}

/* Runs the check `look`, and repeats a check that finds trouble, since the WAL may just be
 * beginning anew. */
static const char *log_trouble(struct store *s, const char *(*look)(struct store *s))
{
	const char *trouble = look(s);

	for (int i = 1; trouble && i < LOOKS; i++) {
		nanosleep(&look_pause, NULL);
		trouble = look(s);
	}
	return trouble;
}

/* Whether the file is shorter than its header says, and no checkpoint explains the difference.
 * A checkpoint writes page 1 first, and its process may die before the last page is written. */
static bool is_cut(const struct store *s)
{
	struct generation_copied before, after;
	struct header h;
	off_t size;

	return generation_rests(s, &before) && !db_trouble(s, &size) &&
	       ground_read_header(s, &h) == SQLITE_OK && size < h.size &&
	       generation_rests(s, &after) && before.done == after.done;
}

/* A file that was copied over state.db has another mark, or an older counter. A short file may
 * be whole: VACUUM shortens state.db, and writes the new size into the header. */
static const char *look_at_header(struct store *s, off_t size)
{
	struct ground *g = &s->ground;
	struct header h;

	if (ground_read_header(s, &h) != SQLITE_OK)
		return NULL; /* the next reader reports a read error */
	if (h.mark != g->mark || (int32_t)(h.changes - g->changes) < 0)
		return "was written over";
	if (size < g->size && size < h.size && is_cut(s))
		return file_is_cut;
	g->changes = h.changes;
	if (size >= h.size) /* a shorter file is checked again at the next look */
		g->size = size;
	return NULL;
}

/* Repeats look_at_header() if it finds trouble. `size` is the size of state.db that the caller
 * has read. */
static const char *header_trouble(struct store *s, off_t size)
{
	const char *trouble = look_at_header(s, size);

	for (int i = 1; trouble && i < LOOKS; i++) {
		nanosleep(&look_pause, NULL);
		if (!(trouble = db_trouble(s, &size)))
			trouble = look_at_header(s, size);
	}
	return trouble;
}

/* Saves the data of a WAL that was unlinked, but that this process still has open. If there is
 * no other WAL at the path, copies the frames of the open WAL into the database file. */
static void rescue(struct store *s)
{
	struct fault f = { 0 };
	off_t size;

	if (!s->db || writer_queue_lock(&s->queue, WRITER_QUEUE_OPEN, true, &f) < 0)
		return;
	if (!inode_at(s->ground.wal_path, s->ground.dev) && !db_trouble(s, &size))
		sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_FULL, NULL,
					  NULL);
	writer_queue_unlock(&s->queue, WRITER_QUEUE_OPEN);
}

static void ground_lose(struct store *s, const char *trouble)
{
	const bool cut = trouble == file_is_cut || trouble == log_is_cut;
	struct ground *g = &s->ground;

	g->lost = true;
	fault_set(&g->why, FAULT_UNAVAILABLE, "", "%.120s %s%s while it was in use",
		  s->path, trouble, cut ? "" : ": it was moved, removed or replaced");
	fault_hint(&g->why,
		   cut ? "processes that have it open store no more changes, "
			 "and the last changes may be lost: run `cadre restore "
			 "FILE`, or go on with the rest (`cadre doctor`, then "
			 "`cadre up`)"
		       : "processes that have it open store no more changes. Put "
			 "the former files back, go on with the present files "
			 "(`cadre up`), or put a backup in place (`cadre "
			 "restore`)");
}

static int say_lost(const struct ground *g, struct fault *f)
{
	if (g->lost && !f->code)
		*f = g->why;
	return g->lost ? (int)f->code : 0;
}

int ground_check(struct store *s, enum ground_look look, struct fault *f)
{
	struct ground *g = &s->ground;
	const char *trouble = NULL;
	off_t size;

	if (!g->db)
		return 0;
	if (!g->lost && (trouble = db_trouble(s, &size)))
		ground_lose(s, trouble);
	if (!g->lost && s->db && look >= GROUND_READ &&
	    (trouble = header_trouble(s, size)))
		ground_lose(s, trouble);
	if (!g->lost && s->db && look >= GROUND_WRITE &&
	    (trouble = log_trouble(s, look_at_log))) {
		rescue(s);
		ground_lose(s, trouble);
	}
	return say_lost(g, f);
}

int ground_kept(struct store *s, struct fault *f)
{
	struct ground *g = &s->ground;
	const char *trouble = NULL;
	off_t size;

	if (!g->db || g->lost)
		return say_lost(g, f);
	trouble = db_trouble(s, &size);
	if (!trouble && size < g->size)
		trouble = header_trouble(s, size);
	if (!trouble)
		trouble = log_trouble(s, look_at_open_log);
	if (trouble)
		ground_lose(s, trouble);
	return say_lost(g, f);
}

/* If -shm was removed, the next process that opens the state makes a new -shm. The new -shm
 * counts commits that this process does not know. A checkpoint by this process would therefore
 * lose these commits together with the WAL. */
bool ground_owes(struct store *s)
{
	const struct ground *g = &s->ground;
	struct stat st;
	off_t size;

	if (!s->db || !g->db)
		return false;
	if (ground_look_at(g->wal_path, &st) == 0 &&
	    (st.st_size == 0 || st.st_dev != g->dev || st.st_ino != g->wal ||
	     inode_at(g->shm_path, g->dev) != g->shm))
		return false;
	return !db_trouble(s, &size) && !header_trouble(s, size) &&
	       !log_trouble(s, look_at_open_log);
}

void ground_release(struct ground *g)
{
	free(g->wal_path);
	free(g->shm_path);
}
