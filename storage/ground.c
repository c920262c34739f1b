#include "storage/ground.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "storage/generation.h"
#include "storage/store_inside.h"
#include "storage/journal.h"
#include "storage/words.h"

enum {
	HEADER = 100, /* bytes of a database's header */
	HEADER_PAGE_SIZE = 16, /* offset of the page size; 1 means 65536 */
	HEADER_PAGES = 28, /* offset of the number of pages */
	LOOKS = 4, /* tries at a header that seems wrong: page 1 may be half written */
	WAL_LOOKS = 50, /* tries at a WAL that others may be writing to */
};

static const char file_is_cut[] = "was cut off",
		  log_is_cut[] = "had its -wal cut off or written over";

static const struct timespec look_pause = { .tv_nsec = 1000000 };

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

/* --- headers -------------------------------------------------------------------- */

/* The header of a file; zeros when the file is too short to have one. */
struct header {
	uint32_t mark, changes;
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

/* A file's place and size, without its times: since Linux 6.13 a stat() that returns times
 * makes the next write to the file change them, so that each commit would write the
 * inode too. */
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

/* --- the WAL of which file ---------------------------------------------------------- */

static bool wal_is_empty(const struct store *s)
{
	struct stat st;

	return ground_look_at(s->ground.wal_path, &st) || st.st_size == 0;
}

static bool ground_read_note(const struct store *s, struct header *h)
{
	char text[40] = "";

	return pread(s->queue.lock, text, sizeof(text) - 1, 0) > 0 &&
	       sscanf(text, "wal of %8x %8x", &h->mark, &h->changes) == 2;
}

static int ground_write_note(const struct store *s, const struct header *h, bool sync,
			     struct fault *f)
{
	char text[40];
	int n = snprintf(text, sizeof(text), "wal of %08x %08x\n", h->mark, h->changes);

	if (pwrite(s->queue.lock, text, (size_t)n, 0) != n ||
	    (sync && fdatasync(s->queue.lock)))
		return fault_set(f, FAULT_UNAVAILABLE, "", "cannot write state.lock: %s",
				 strerror(errno));
	return 0;
}

static int refuse_wal(struct fault *f, const char *dir)
{
	fault_set(f, FAULT_IO, "",
		  "state.db-wal in %.110s is not of the state.db beside it: one of them "
		  "was put there by hand, by git or by an archive",
		  dir);
	return fault_hint(
		f,
		"nothing is damaged yet: copy both; was state.db changed with `sqlite3`, "
		"close that, or open it once with it; was it replaced, put it back, "
		"or `cadre restore`; else move state.db-wal away");
}

static int refuse_journal(struct fault *f, const char *dir)
{
	fault_set(
		f, FAULT_IO, "",
		"state.db-journal in %.110s is not of the state.db beside it: it was "
		"put there by hand, by git or by an archive, or a killed `sqlite3` left it",
		dir);
	/* A foreign journal damages a state when it is written back, and the state's own
	 * when it is not. */
	return fault_hint(f, "nothing is damaged yet: copy both files; then, if a killed "
			     "`sqlite3` left the journal, have `sqlite3` open state.db "
			     "once, else move state.db-journal away");
}

int ground_vacant(const struct store *s, struct fault *f)
{
	if (wal_is_empty(s))
		return 0;
	fault_set(f, FAULT_CONFLICT, "",
		  "state.db was taken away from %.110s, and its log state.db-wal left",
		  s->dir);
	return fault_hint(f,
			  "put it back, or `cadre restore` a backup; to begin anew, move "
			  "state.db-wal and state.db-shm away");
}

/* Reads again where page 1 is half written, or the WAL begins anew meanwhile. */
static bool wal_is_of_other(const struct store *s)
{
	enum generation_of found = GENERATION_UNKNOWN;
	struct generation g;
	struct header h;

	for (int i = 0; i < WAL_LOOKS; i++) {
		if (i)
			nanosleep(&look_pause, NULL);
		generation_open(&g, s->ground.wal_path);
		found = GENERATION_UNKNOWN;
		if (ground_read_header(s, &h) == SQLITE_OK)
			found = generation_judge(
				&g, &(const struct generation_file){ h.mark, h.changes });
		generation_close(&g);
		if (found < GENERATION_OF_OTHER)
			break;
	}
	return found == GENERATION_OF_OTHER;
}

int ground_admit(struct store *s, struct fault *f)
{
	struct header file, note = { 0 };
	bool noted = ground_read_note(s, &note), behind;
	int rc = ground_read_header(s, &file);

	if (rc != SQLITE_OK)
		return store_fault(s, rc, "open", f);
	if (journal_is_of_other(s->path, file.mark))
		return refuse_journal(f, s->dir);
	behind = (int32_t)(file.changes - note.changes) < 0;
	if (!wal_is_empty(s))
		return (noted && (file.mark != note.mark || behind)) || wal_is_of_other(s)
			       ? refuse_wal(f, s->dir)
			       : 0;
	/* Files of older versions have no mark, so nothing is noted about them. */
	if (!file.mark ||
	    (noted && file.mark == note.mark && file.changes == note.changes))
		return 0;
	return ground_write_note(s, &file, !noted || file.mark != note.mark || behind, f);
}

/* --- where the files are -------------------------------------------------------------- */

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

	/* A read makes SQLite open the WAL, if it has not yet. */
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
	return 0;
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

/* Looks at the -wal that is open, in whatever place it is now. */
static const char *look_at_open_log(struct store *s)
{
	return generation_holds(s, &s->ground.extent) ? NULL : log_is_cut;
}

/* Repeats a look while the log begins anew. */
static const char *log_trouble(struct store *s, const char *(*look)(struct store *s))
{
	const char *trouble = look(s);

	for (int i = 1; trouble && i < LOOKS; i++) {
		nanosleep(&look_pause, NULL);
		trouble = look(s);
	}
	return trouble;
}

/* Whether the file is shorter than its header says while no checkpoint copies pages: a
 * checkpoint writes page 1 first, and may die before the last page. */
static bool is_cut(const struct store *s)
{
	struct generation_copied before, after;
	struct header h;
	off_t size;

	return generation_rests(s, &before) && !db_trouble(s, &size) &&
	       ground_read_header(s, &h) == SQLITE_OK && size < h.size &&
	       generation_rests(s, &after) && before.done == after.done;
}

/* A file that was copied over this one has another mark, or an older counter.  VACUUM
 * makes a file smaller, but its header says so. */
static const char *look_at_header(struct store *s, off_t size)
{
	struct ground *g = &s->ground;
	struct header h;

	if (ground_read_header(s, &h) != SQLITE_OK)
		return NULL; /* a read error is reported by the next reader */
	if (h.mark != g->mark || (int32_t)(h.changes - g->changes) < 0)
		return "was written over";
	if (size < g->size && size < h.size && is_cut(s))
		return file_is_cut;
	g->changes = h.changes;
	if (size >= h.size) /* else the size is checked again when no page is being
			       copied */
		g->size = size;
	return NULL;
}

/* `size` is that of state.db, seen before. */
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

/* Saves a WAL that was unlinked but is still open here: as long as no other one is in its
 * place, its frames are copied into the file. */
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
	fault_hint(
		&g->why,
		cut ? "nothing more is kept by who has it open, and what was kept lately "
		      "may be gone: bring a backup back by `cadre restore FILE`, or begin "
		      "again with what is left (`cadre doctor`, then `cadre up`)"
		    : "nothing more is kept by who has it open: begin again with what is "
		      "there now (`cadre up`), or bring it back first; backups are put in "
		      "place by `cadre restore`");
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

/* A process that came after -shm was removed has made a new one, which counts commits
 * that this process does not know: a checkpoint here would lose them with the WAL. */
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
