#include "core/machine/notes_disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/machine/notes_inside.h"
#include "core/machine/private.h"
#include "core/machine/yaml.h"
#include "storage/durable.h"

int notes_fault(struct fault *f, const char *what, const char *path)
{
	int error = errno;

	switch (error) {
	case ELOOP:
	case ENOTDIR:
	case EEXIST:
	case EISDIR:
	case EXDEV:
		fault_set(f, FAULT_CONFLICT, "/path",
			  "%.180s is not a note or folder of the vault", path);
		return fault_hint(f, "In the vault, cadre follows no links, and opens no "
				     "devices and no folders on other file systems.");
	case ENOSPC:
	case EDQUOT:
		return fault_set(f, FAULT_UNAVAILABLE, "", "the disk is full");
	default:
		return fault_set(f, FAULT_IO, "", "cannot %s %.150s in the vault: %s",
				 what, path, strerror(error));
	}
}

/* --- folders -------------------------------------------------------------------- */

int notes_open(int root, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC),
		/* All paths of notes stay on one file system, so that every rename works. */
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
			   RESOLVE_NO_XDEV,
	};
	int fd;

	do
		fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	while (fd < 0 && errno == EINTR);
	return fd;
}

int notes_root(const struct notes_disk *d, bool make)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	int fd = open(d->root, flags);

	if (fd < 0 && errno == ENOENT && make &&
	    dir_make_all(d->root, PRIVATE_FOLDER) == 0)
		fd = open(d->root, flags);
	return fd;
}

/* Opens the folder `name` in the folder `dir`. With `make`, makes a missing folder, and syncs
 * `dir` to the disk. */
static int notes_disk_step_into(int dir, const char *name, bool make)
{
	int fd = notes_open(dir, name, O_RDONLY | O_DIRECTORY);

	if (fd >= 0 || errno != ENOENT || !make)
		return fd;
	if (mkdirat(dir, name, PRIVATE_FOLDER) < 0 && errno != EEXIST)
		return -1;
	if (fsync(dir) < 0)
		return -1;
	return notes_open(dir, name, O_RDONLY | O_DIRECTORY);
}

int notes_folder(int root, const char *path, bool make, const char **name)
{
	const char *part = path, *slash;
	int dir = fcntl(root, F_DUPFD_CLOEXEC, 0);

	for (; dir >= 0 && (slash = strchr(part, '/')); part = slash + 1) {
		char one[NAME_MAX + 1];
		int next;

		snprintf(one, sizeof(one), "%.*s", (int)(slash - part), part);
		next = notes_disk_step_into(dir, one, make);
		close(dir);
		dir = next;
	}
	*name = part;
	return dir;
}

/* --- files ----------------------------------------------------------------------- */

static void take_stamp(const struct stat *st, struct note_stamp *out)
{
	out->ino = (int64_t)st->st_ino;
	out->mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
	out->size = st->st_size;
}

bool notes_same(const struct note_stamp *a, const struct note_stamp *b)
{
	return a->ino == b->ino && a->mtime_ns == b->mtime_ns && a->size == b->size;
}

int notes_stamp(int dir, const char *name, struct note_stamp *out)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -1;
	take_stamp(&st, out);
	errno = EEXIST;
	return S_ISREG(st.st_mode) ? 1 : -1;
}

/* Opens a note for reading. Returns a descriptor, -1 after an error, or -2 if there is no such
 * note. */
static int open_note(const struct notes_disk *d, const char *path, struct stat *st,
		     struct fault *f)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
	int root = notes_root(d, false), fd = -1;

	if (root >= 0) {
		fd = notes_open(root, path, flags);
		close(root);
	}
	if (fd < 0 && (errno == ENOENT || errno == ENAMETOOLONG))
		return -2;
	if (fd < 0)
		return notes_fault(f, "open", path), -1;
	errno = EEXIST;
	if (fstat(fd, st) == 0 && S_ISREG(st->st_mode))
		return fd;
	notes_fault(f, "read", path);
	close(fd);
	return -1;
}

static int disk_look(const void *self, const char *path, struct note_stamp *out,
		     struct fault *f)
{
	struct stat st;
	int fd = open_note(self, path, &st, f);

	if (fd < 0)
		return fd == -2 ? 0 : (int)f->code;
	take_stamp(&st, out);
	close(fd);
	return 1;
}

static int notes_disk_read_part(int fd, struct note_part part, struct text *out)
{
	char piece[65536];
	ssize_t n;

	while (part.most > 0) {
		size_t want = part.most < (int64_t)sizeof(piece) ? (size_t)part.most
								 : sizeof(piece);

		n = pread(fd, piece, want, part.offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return (int)n;
		text_add(out, piece, (size_t)n);
		part.offset += n;
		part.most -= n;
	}
	return 0;
}

static int disk_read(const void *self, const char *path, struct note_part part,
		     struct text *out, struct note_stamp *stamp, struct fault *f)
{
	struct stat st;
	int fd = open_note(self, path, &st, f), rc = 1;

	if (fd < 0)
		return fd == -2 ? 0 : (int)f->code;
	take_stamp(&st, stamp);
	if (notes_disk_read_part(fd, part, out) < 0)
		rc = notes_fault(f, "read", path);
	close(fd);
	return rc;
}

/* --- walking ---------------------------------------------------------------------- */

struct tour {
	notes_skip *skip;
	notes_each *each;
	void *with;
	struct fault *fault;
	size_t most; /* maximum length of a path, in bytes */
	bool hidden; /* the walk visits hidden entries too */
	char path[NOTE_PATH + 128];
	int depth;
};

static int tour_folder(struct tour *t, int fd, size_t len);

/* Opens a folder. Fails if this process has no right to list the folder's entries or to open
 * them. */
static int open_entries(int dir, const char *name)
{
	int fd = notes_open(dir, name, O_RDONLY | O_DIRECTORY), error;

	if (fd < 0 || faccessat(fd, ".", F_OK, 0) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

/* Visits the entry at t->path, whose name begins at the offset `at`. Skips an entry that was
 * removed meanwhile. */
static int tour_path(struct tour *t, int dir, size_t at)
{
	struct note_entry entry = { .path = t->path };
	const char *name = t->path + at;
	struct stat st;
	int rc, fd;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	entry.folder = S_ISDIR(st.st_mode);
	if (!entry.folder && !S_ISREG(st.st_mode))
		return 0;
	take_stamp(&st, &entry.stamp);
	rc = t->each(t->with, &entry, t->fault);
	if (rc == NOTES_ENTER && entry.folder && t->depth < NOTE_DEPTH) {
		fd = open_entries(dir, name);
		if (fd >= 0)
			return tour_folder(t, fd, at + strlen(name));
		entry.closed = errno == ENOENT ? 0 : errno;
		rc = entry.closed ? t->each(t->with, &entry, t->fault) : 0;
	}
	return rc;
}

static bool is_hidden(const struct tour *t, const char *name)
{
	if (*name != '.')
		return false;
	if (t->hidden)
		return !strcmp(name, ".") || !strcmp(name, "..");
	return strcmp(name, ".archive") != 0 || strcmp(t->path, "teams") != 0;
}

static int tour_entry(struct tour *t, int dir, const char *name, size_t len)
{
	size_t n = strlen(name), at = len + (len > 0);
	int rc;

	if (is_hidden(t, name) || at + n > t->most)
		return 0;
	if (len)
		t->path[len] = '/';
	memcpy(t->path + at, name, n + 1);
	rc = t->skip && t->skip(t->path) ? 0 : tour_path(t, dir, at);
	t->path[len] = '\0';
	return rc == NOTES_ENTER ? 0 : rc;
}

/* Visits all entries of the folder `fd`, and closes `fd`. */
static int tour_folder(struct tour *t, int fd, size_t len)
{
	DIR *dir = fdopendir(fd);
	struct dirent *e;
	int rc = 0;

	if (!dir) {
		close(fd);
		return 0;
	}
	t->depth++;
	while (rc == 0 && (e = readdir(dir)))
		rc = tour_entry(t, fd, e->d_name, len);
	t->depth--;
	closedir(dir);
	return rc;
}

/* Opens the folder in which a walk begins. */
static int open_start(const struct notes_disk *d, const char *folder)
{
	int root = notes_root(d, false), fd = -1;

	if (root >= 0) {
		fd = open_entries(root, *folder ? folder : ".");
		close(root);
	}
	return fd;
}

static int disk_walk(const void *self, const char *folder, notes_skip *skip,
		     notes_each *each, void *with, struct fault *f)
{
	struct tour t = {
		.skip = skip,
		.each = each,
		.with = with,
		.fault = f,
		.hidden = notes_is_trashed(folder),
	};
	int fd = open_start(self, folder), rc;

	snprintf(t.path, sizeof(t.path), "%s", folder);
	t.most = t.hidden ? sizeof(t.path) - 1 : NOTE_PATH;
	if (fd < 0)
		return errno == ENOENT ? 0 : notes_fault(f, "open", folder);
	rc = tour_folder(&t, fd, strlen(t.path));
	return rc ? rc : 1;
}

/* --- the table of functions ------------------------------------------------------- */

void notes_disk_init(struct notes_disk *d, const char *root, const char *state)
{
	*d = (struct notes_disk){
		.notes = {
			.self = d,
			.lock = notes_lock,
			.lock_teams = notes_lock_teams,
			.unlock = notes_unlock,
			.look = disk_look,
			.read = disk_read,
			.stage = notes_stage,
			.make = notes_make,
			.made = notes_made,
			.staged = notes_staged,
			.lock_staged = notes_lock_staged,
			.drop = notes_drop,
			.forget = notes_forget,
			.walk = disk_walk,
			.yaml = yaml_read,
			.clock_ms = clock_steady_ms,
		},
		.root = root,
		.state = state,
	};
}
