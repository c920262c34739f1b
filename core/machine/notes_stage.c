/* notes_stage - writes changed notes to a stage, then moves them to their paths. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/machine/file_place.h"
#include "core/machine/notes_inside.h"
#include "core/machine/private.h"
#include "storage/durable.h"

/* --- staging --------------------------------------------------------------------- */

static int open_stage(int root)
{
	int fd = notes_open(root, NOTES_STAGE, O_RDONLY | O_DIRECTORY);

	if (fd >= 0 || errno != ENOENT)
		return fd;
	if (mkdirat(root, NOTES_STAGE, PRIVATE_FOLDER) < 0 && errno != EEXIST)
		return -1;
	return fsync(root) < 0 ? -1
			       : notes_open(root, NOTES_STAGE, O_RDONLY | O_DIRECTORY);
}

/* Makes a new file with `content` in the stage and syncs it. The file gets the mode `mode`,
 * which is the mode of the old note. If `mode` is -1, only the owner may use the file. */
static int notes_stage_fill(int stage, const char *name, int mode,
			    const struct text *content, struct note_stamp *stamp)
{
	int fd = openat(stage, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			PRIVATE_FILE);
	int rc, error;

	if (fd < 0)
		return -1;
	rc = fd_write_all(fd, content->data, content->len);
	if (rc == 0 && mode >= 0)
		rc = fchmod(fd, (mode_t)mode);
	if (rc == 0)
		rc = fsync(fd);
	error = errno;
	if (close(fd) < 0 && rc == 0) {
		error = errno;
		rc = -1;
	}
	if (rc == 0)
		return fsync(stage) < 0 || notes_stamp(stage, name, stamp) < 1 ? -1 : 0;
	unlinkat(stage, name, 0);
	errno = error;
	return -1;
}

static int mode_of(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)
		       ? (int)(st.st_mode & 0777)
		       : -1;
}

int notes_stage(const void *self, const char *path, const struct text *content,
		struct note_move *out, struct arena *a, struct fault *f)
{
	int root = notes_root(self, true), dir = -1, stage = -1;
	const char *name = NULL, *staged;
	uint64_t random;
	int rc = 0;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		random = (uint64_t)getpid();
	staged = arena_printf(a, "%016" PRIx64 "-%016" PRIx64, notes_lock_byte(path),
			      random);
	if (root >= 0)
		dir = notes_folder(root, path, true, &name);
	if (dir >= 0)
		stage = open_stage(root);
	if (stage < 0 ||
	    notes_stage_fill(stage, staged, mode_of(dir, name), content, &out->is) < 0)
		rc = notes_fault(f, "write", path);
	out->from = arena_printf(a, NOTES_STAGE "/%s", staged);
	out->to = path;
	if (stage >= 0)
		close(stage);
	if (dir >= 0)
		close(dir);
	if (root >= 0)
		close(root);
	return rc;
}

/* --- moving ------------------------------------------------------------------------ */

/* The open folders of a move, and the names in these folders. */
struct ends {
	int root, from, to; /* `to` is -1 if the move removes the file */
	const char *from_name, *to_name;
};

static void close_ends(struct ends *e)
{
	int all[] = { e->root, e->from, e->to };

	for (size_t i = 0; i < 3; i++)
		if (all[i] >= 0)
			close(all[i]);
}

/* Opens the vault's root and the folders of a move, and returns 1. Returns 0 if a folder is
 * missing because the move was already made and the folder was removed later. Returns -1 with
 * errno. */
static int open_ends(const struct notes_disk *d, const struct note_move *m,
		     struct ends *e)
{
	struct note_stamp now;
	bool due;

	*e = (struct ends){ .root = notes_root(d, false), .from = -1, .to = -1 };
	if (e->root < 0)
		return errno == ENOENT ? 0 : -1;
	e->from = notes_folder(e->root, m->from, false, &e->from_name);
	if (e->from < 0)
		return errno == ENOENT ? 0 : -1;
	if (!m->to)
		return 1;
	due = notes_stamp(e->from, e->from_name, &now) > 0 && notes_same(&now, &m->is);
	e->to = notes_folder(e->root, m->to, due, &e->to_name);
	if (e->to < 0)
		return !due && errno == ENOENT ? 0 : -1;
	return 1;
}

/* Whether a program has the file open for writing, and so may write more text. */
static bool held_open(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool held = fd >= 0 && file_holder(fd) == FILE_WRITTEN;

	if (fd >= 0)
		close(fd); /* close() also ends the file lease of file_holder() */
	return held;
}

/* Removes the old file. file_exchange() has swapped both files, so the old file is in the
 * folder `from`. If somebody else has changed the old file meanwhile, or may still write to it,
 * keeps the old file beside the new file. */
static int notes_stage_settle(const struct ends *e, const struct note_move *m)
{
	struct note_stamp out;
	int rc = notes_stamp(e->from, e->from_name, &out);

	if (rc == 0)
		return 0;
	if (rc > 0 && notes_same(&out, &m->was) && !held_open(e->from, e->from_name))
		return unlinkat(e->from, e->from_name, 0);
	return file_keep(e->from, e->from_name, e->to, e->to_name);
}

static bool is_in_stage(const struct note_move *m)
{
	return strncmp(m->from, NOTES_STAGE "/", sizeof(NOTES_STAGE)) == 0;
}

static int move_between(const struct ends *e, const struct note_move *m)
{
	struct note_stamp now;
	int rc = notes_stamp(e->from, e->from_name, &now);

	if (rc < 0)
		return errno == EEXIST ? 0 : -1; /* the entry is no regular file any
						    more */
	if (rc == 1 && notes_same(&now, &m->is)) {
		if (!m->to)
			return unlinkat(e->from, e->from_name, 0);
		rc = file_exchange(e->from, e->from_name, e->to, e->to_name);
		return rc > 0 ? notes_stage_settle(e, m) : rc;
	}
	/* The new file is already at its path. An interrupted move may have left the old file
	 * in the stage. */
	return rc == 1 && is_in_stage(m) ? notes_stage_settle(e, m) : 0;
}

int notes_make(const void *self, const struct note_move *m, struct fault *f)
{
	struct ends e;
	int rc = open_ends(self, m, &e);

	if (rc > 0)
		rc = move_between(&e, m);
	if (rc >= 0 && e.to >= 0)
		rc = fsync(e.to);
	if (rc >= 0 && e.from >= 0 && !is_in_stage(m))
		rc = fsync(e.from);
	if (rc >= 0 && notes_is_trashed(m->from))
		notes_clear_trash(e.root, m->from);
	if (rc < 0)
		notes_fault(f, "write", m->to ? m->to : m->from);
	close_ends(&e);
	return rc < 0 ? (int)f->code : 0;
}

bool notes_made(const void *self, const struct note_move *m)
{
	int root = notes_root(self, false), dir = -1;
	struct note_stamp now;
	const char *name = NULL;
	bool made;

	if (root >= 0)
		dir = notes_folder(root, m->from, false, &name);
	made = dir < 0 || notes_stamp(dir, name, &now) < 1 || !notes_same(&now, &m->is);
	if (dir >= 0)
		close(dir);
	if (root >= 0)
		close(root);
	return made;
}

/* --- staged files that a crash has left --------------------------------------------- */

static int list_stage(DIR *dir, notes_each *each, void *with, struct fault *f)
{
	char path[sizeof(NOTES_STAGE) + NAME_MAX + 1];
	const struct note_entry entry = { .path = path };
	struct dirent *e;
	int rc = 0;

	while (rc == 0 && (e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), NOTES_STAGE "/%s", e->d_name);
		rc = each(with, &entry, f);
	}
	return rc;
}

int notes_staged(const void *self, notes_each *each, void *with, struct fault *f)
{
	int root = notes_root(self, false), fd = -1, rc = 0;
	DIR *dir = NULL;

	if (root >= 0) {
		fd = notes_open(root, NOTES_STAGE, O_RDONLY | O_DIRECTORY);
		close(root);
	}
	if (fd >= 0 && (dir = fdopendir(fd)))
		rc = list_stage(dir, each, with, f);
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	return rc;
}

int notes_drop(const void *self, const char *staged, struct fault *f)
{
	int root = notes_root(self, false), dir = -1, rc = 0;
	const char *name = NULL;

	if (root >= 0)
		dir = notes_folder(root, staged, false, &name);
	if (dir >= 0 && unlinkat(dir, name, 0) < 0 && errno != ENOENT)
		rc = notes_fault(f, "remove", staged);
	if (dir >= 0)
		close(dir);
	if (root >= 0)
		close(root);
	return rc;
}
