#include "core/host/mirror_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char stage_name[] = ".cadre-stage";

enum {
	FEW = 8, /* so many files are synced one by one, more by syncfs() */
	STAGE_NAME = 340,
};

/* A content that waits in the stage. */
struct staged {
	char name[32]; /* in the stage */
	char folder[FILES_PATH];
	char file[128];
};

static int io_fault(struct fault *f, const char *what, const char *path)
{
	int error = errno;
	enum fault_code code = error == ENOSPC || error == EDQUOT ? FAULT_UNAVAILABLE
								  : FAULT_IO;

	return fault_set(f, code, "", "cannot %s %s in the vault: %s", what, path,
			 strerror(error));
}

/* --- folders -------------------------------------------------------------------- */

static int open_below(int root, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

/* What stands at `name` is no folder: a person's file, or a planted symlink. */
static int move_aside(int dir, const char *name)
{
	char aside[300];

	for (int i = 1; i < 1000; i++) {
		snprintf(aside, sizeof(aside), i > 1 ? "%s.conflict-%d" : "%s.conflict",
			 name, i);
		if (renameat2(dir, name, dir, aside, RENAME_NOREPLACE) == 0)
			return 0;
		if (errno != EEXIST)
			return -1;
	}
	return -1;
}

/* Opens one folder of a path below `dir`, made if it is not there. */
static int step_into(struct files *fs, int dir, const char *name)
{
	for (int tries = 0; tries < 4; tries++) {
		int fd = open_below(dir, name, O_RDONLY | O_DIRECTORY);

		if (fd >= 0)
			return fd;
		if (errno == ENOENT) {
			if (mkdirat(dir, name, 0777) == 0)
				fs->made = true;
			else if (errno != EEXIST)
				return -1;
		} else if (errno != ENOTDIR && errno != ELOOP) {
			return -1;
		} else if (move_aside(dir, name) < 0 && errno != ENOENT) {
			return -1;
		}
	}
	return -1;
}

static int make_folders(struct files *fs, const char *path)
{
	char copy[FILES_PATH], *rest = copy, *name;
	int dir = fs->root;

	snprintf(copy, sizeof(copy), "%s", path);
	while ((name = strsep(&rest, "/"))) {
		int next = step_into(fs, dir, name);

		if (dir != fs->root)
			close(dir);
		if (next < 0)
			return -1;
		dir = next;
	}
	return dir;
}

void files_forget(struct files *fs)
{
	for (int i = 0; i < FILES_FOLDERS; i++) {
		if (fs->folders[i].fd >= 0)
			close(fs->folders[i].fd);
		fs->folders[i].fd = -1;
	}
}

/* The folder's descriptor, borrowed until another one is asked for; -1 with
 * errno.  Looking only, a folder that is not there is ENOENT. */
static int folder_at(struct files *fs, const char *path, bool make)
{
	struct files_folder *slot;
	int fd;

	for (int i = 0; i < FILES_FOLDERS; i++)
		if (fs->folders[i].fd >= 0 && strcmp(fs->folders[i].path, path) == 0)
			return fs->folders[i].fd;
	fd = open_below(fs->root, path, O_RDONLY | O_DIRECTORY);
	if (fd < 0 && make)
		fd = make_folders(fs, path);
	if (fd < 0)
		return -1;
	slot = &fs->folders[fs->turn++ % FILES_FOLDERS];
	if (slot->fd >= 0)
		close(slot->fd);
	snprintf(slot->path, sizeof(slot->path), "%s", path);
	return slot->fd = fd;
}

/* --- reading and writing ----------------------------------------------------------- */

/* The bytes of an open file, whatever size it has. */
static int read_whole(int fd, struct text *out)
{
	char piece[16384];
	ssize_t n;

	out->len = 0;
	while ((n = read(fd, piece, sizeof(piece))) != 0) {
		if (n > 0)
			text_add(out, piece, (size_t)n);
		else if (errno != EINTR)
			return -1;
	}
	return 0;
}

/* Reads a regular file: 1, 0 if there is none (or something else), -1. */
static int read_at(int dir, const char *name, struct text *out)
{
	int fd = open_below(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	int rc = 0;

	if (fd < 0)
		return errno == ENOENT || errno == ELOOP || errno == ENXIO ? 0 : -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		rc = read_whole(fd, out) < 0 ? -1 : 1;
	close(fd);
	return rc;
}

static int write_at(int dir, const char *name, const struct text *text, bool sync)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
			0666);
	size_t done = 0;
	int error;

	if (fd < 0)
		return -1;
	while (done < text->len) {
		ssize_t n = write(fd, text->data + done, text->len - done);

		if (n < 0 && errno != EINTR)
			break;
		done += n > 0 ? (size_t)n : 0;
	}
	if (done == text->len && (!sync || fdatasync(fd) == 0) && close(fd) == 0)
		return 0;
	error = errno;
	close(fd);
	unlinkat(dir, name, 0);
	errno = error;
	return -1;
}

int files_read(struct files *fs, const char *folder, const char *name, struct text *out,
	       struct fault *f)
{
	int dir = folder_at(fs, folder, false), rc;

	out->len = 0;
	if (dir < 0)
		return errno == ENOENT || errno == ELOOP || errno == ENOTDIR
			       ? 0
			       : io_fault(f, "open", folder);
	rc = read_at(dir, name, out);
	return rc < 0 ? io_fault(f, "read", name) : rc;
}

int files_note(struct files *fs, const char *name, const char *text, struct fault *f)
{
	const struct text bytes = { .data = (char *)(uintptr_t)text,
				    .len = strlen(text) };

	if (write_at(fs->stage, name, &bytes, true) < 0 ||
	    renameat(fs->stage, name, fs->root, name) < 0)
		return io_fault(f, "write", name);
	return 0;
}

/* --- the stage ------------------------------------------------------------------------ */

/* Where what came out is kept: before the extension, `.conflict`, numbered if
 * that is taken. */
static int keep_conflict(struct files *fs, const char *staged, int dir, const char *file)
{
	const char *dot = strrchr(file, '.');
	int stem = dot ? (int)(dot - file) : (int)strlen(file);
	char name[300];

	for (int i = 1; i < 100000; i++) {
		if (i == 1)
			snprintf(name, sizeof(name), "%.*s.conflict%s", stem, file,
				 dot ? dot : "");
		else
			snprintf(name, sizeof(name), "%.*s.conflict-%d%s", stem, file, i,
				 dot ? dot : "");
		if (renameat2(fs->stage, staged, dir, name, RENAME_NOREPLACE) == 0) {
			fs->kept++;
			return 0;
		}
		if (errno != EEXIST)
			return -1;
	}
	return -1;
}

/* Whether a program still has it open for writing: then its text may yet come.
 * A read lease tells; where leases do not work, nobody is assumed to. */
static bool held_open(int fd)
{
	bool held = fcntl(fd, F_SETSIG, SIGURG) == 0 &&
		    fcntl(fd, F_SETLEASE, F_RDLCK) < 0 && errno == EAGAIN;

	if (!held)
		fcntl(fd, F_SETLEASE, F_UNLCK);
	return held;
}

/* What came out of a place: 0 if it was the mirror's own (or empty) and may go,
 * 1 if it is to be kept, 2 if somebody is still writing it, -1. */
static int look_at(struct files *fs, const char *staged)
{
	int fd = open_below(fs->stage, staged, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	int rc = 1;

	if (fd < 0)
		return errno == ELOOP || errno == ENXIO ? 1 : -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		if (held_open(fd))
			rc = 2;
		else if (read_whole(fd, &fs->old) < 0)
			rc = -1;
		else if (fs->old.len == 0 || page_sealed(fs->old.data, fs->old.len))
			rc = 0;
	}
	close(fd);
	return rc;
}

/* Settles what came out of FOLDER/FILE and is called `staged` now. */
static int settle(struct files *fs, const char *staged, const char *folder,
		  const char *file)
{
	int rc = look_at(fs, staged), dir;

	if (rc == 0)
		return unlinkat(fs->stage, staged, 0);
	if (rc == 2)
		fs->left = true;
	if (rc != 1)
		return rc == 2 ? 0 : -1;
	dir = folder_at(fs, folder, true);
	return dir < 0 ? -1 : keep_conflict(fs, staged, dir, file);
}

/* A name in the stage: `old` is what came out of a place or is about to go in,
 * whole; any other is still being written and worth nothing after a crash. */
static void stage_as(char out[STAGE_NAME], uint64_t serial, const char *folder,
		     const char *file)
{
	snprintf(out, STAGE_NAME, "old~%016" PRIx64 "~%s~%s", serial, folder, file);
	for (char *c = out; *c; c++)
		if (*c == '/')
			*c = '~';
}

static int settle_left(struct files *fs, const char *name)
{
	char copy[STAGE_NAME], *folder, *file;

	snprintf(copy, sizeof(copy), "%s", name);
	folder = strncmp(copy, "old~", 4) == 0 ? strchr(copy + 4, '~') : NULL;
	file = folder ? strrchr(folder + 1, '~') : NULL;
	if (!file)
		return unlinkat(fs->stage, name, 0);
	*file++ = '\0';
	for (char *c = ++folder; *c; c++)
		if (*c == '~')
			*c = '/';
	return settle(fs, name, folder, file);
}

static int settle_each(void *with, const char *name)
{
	int rc = settle_left(with, name);

	return rc < 0 && errno != ENOENT ? -1 : 0;
}

/* All names of a folder that is open as `fd`, without those of dots. */
static int list_open(int fd, int (*each)(void *with, const char *name), void *with)
{
	int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again >= 0 ? fdopendir(again) : NULL;
	struct dirent *entry;
	int rc = 0;

	if (!dir) {
		if (again >= 0)
			close(again);
		return -1;
	}
	while (rc == 0 && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			rc = each(with, entry->d_name);
	closedir(dir);
	return rc;
}

int files_settle(struct files *fs, struct fault *f)
{
	fs->left = false;
	if (list_open(fs->stage, settle_each, fs) < 0)
		return io_fault(f, "settle", stage_name);
	return 0;
}

int files_list(struct files *fs, const char *folder,
	       int (*each)(void *with, const char *name), void *with, struct fault *f)
{
	int fd = folder_at(fs, folder, false), rc;

	if (fd < 0)
		return errno == ENOENT || errno == ELOOP || errno == ENOTDIR
			       ? 0
			       : io_fault(f, "open", folder);
	errno = 0;
	rc = list_open(fd, each, with);
	return rc == -1 && errno ? io_fault(f, "list", folder) : rc;
}

/* --- placing ----------------------------------------------------------------------------- */

int files_put(struct files *fs, const char *folder, const char *name,
	      const struct page *page, int64_t rev, struct fault *f)
{
	int rc = files_read(fs, folder, name, &fs->old, f);
	struct staged *s;

	if (rc < 0)
		return rc;
	if (rc == 1 && page_same(page, fs->old.data, fs->old.len))
		return 0;
	if (fs->n_staged == fs->staged_room) {
		fs->staged_room = fs->staged_room ? fs->staged_room * 2 : 64;
		fs->staged = reallocarray(fs->staged, fs->staged_room, sizeof(*s));
		if (!fs->staged)
			abort();
	}
	s = &fs->staged[fs->n_staged];
	snprintf(s->name, sizeof(s->name), "new~%016" PRIx64, fs->serial++);
	snprintf(s->folder, sizeof(s->folder), "%s", folder);
	snprintf(s->file, sizeof(s->file), "%s", name);
	fs->new.len = 0;
	page_seal(page, rev, &fs->new);
	if (write_at(fs->stage, s->name, &fs->new, fs->n_staged < FEW) < 0)
		return io_fault(f, "write", name);
	fs->n_staged++;
	return 1;
}

/* Puts FILE's new content, `staged`, into its place; what it replaces is then
 * `staged`.  1 if something came out, 0 if the place was empty, -1. */
static int exchange(struct files *fs, const char *staged, int dir, const char *file)
{
	for (int tries = 0; tries < 100; tries++) {
		if (renameat2(fs->stage, staged, dir, file, RENAME_EXCHANGE) == 0)
			return 1;
		if (errno != ENOENT)
			return -1;
		if (renameat2(fs->stage, staged, dir, file, RENAME_NOREPLACE) == 0)
			return 0;
		if (errno != EEXIST)
			return -1;
	}
	return -1;
}

static int place(struct files *fs, struct staged *s)
{
	char old[STAGE_NAME];
	int dir = folder_at(fs, s->folder, true), rc;

	if (dir < 0)
		return -1;
	stage_as(old, fs->serial++, s->folder, s->file);
	if (renameat(fs->stage, s->name, fs->stage, old) < 0)
		return -1;
	rc = exchange(fs, old, dir, s->file);
	if (rc >= 0)
		fs->placed++;
	return rc > 0 ? settle(fs, old, s->folder, s->file) : rc;
}

int files_drop(struct files *fs, const char *folder, const char *name, struct fault *f)
{
	int dir = folder_at(fs, folder, false);
	char old[STAGE_NAME];

	if (dir < 0)
		return errno == ENOENT ? 0 : io_fault(f, "open", folder);
	stage_as(old, fs->serial++, folder, name);
	if (renameat(dir, name, fs->stage, old) < 0)
		return errno == ENOENT ? 0 : io_fault(f, "move", name);
	fs->made = true;
	return settle(fs, old, folder, name) < 0 ? io_fault(f, "remove", name) : 0;
}

/* The folders of a few placed files, one by one. */
static int sync_folders(struct files *fs)
{
	for (size_t i = 0; i < fs->n_staged; i++) {
		if (i > 0 && strcmp(fs->staged[i].folder, fs->staged[i - 1].folder) == 0)
			continue;
		if (fsync(folder_at(fs, fs->staged[i].folder, true)) < 0)
			return -1;
	}
	return 0;
}

static int place_all(struct files *fs, bool many, struct fault *f)
{
	int rc;

	if (many && syncfs(fs->root) < 0)
		return io_fault(f, "sync", fs->root_path);
	for (size_t i = 0; i < fs->n_staged; i++)
		if (place(fs, &fs->staged[i]) < 0)
			return io_fault(f, "place", fs->staged[i].file);
	rc = many || fs->made ? syncfs(fs->root) : sync_folders(fs);
	if (rc < 0)
		return io_fault(f, "sync", fs->root_path);
	fs->made = false;
	return 0;
}

int files_commit(struct files *fs, struct fault *f)
{
	int rc = place_all(fs, fs->n_staged > FEW, f);

	/* What a failure leaves in the stage is settled later. */
	fs->left |= rc < 0;
	fs->n_staged = 0;
	return rc;
}

/* --- whole folders ------------------------------------------------------------------------- */

/* The folder that holds `path`, and its name there. */
static int parent_of(struct files *fs, const char *path, bool make, const char **name)
{
	const char *slash = strrchr(path, '/');
	char parent[FILES_PATH];

	snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
	*name = slash + 1;
	return folder_at(fs, parent, make);
}

int files_move(struct files *fs, const char *from, const char *to, struct fault *f)
{
	const char *old, *new;
	char name[FILES_PATH + 16];
	int source, target;

	files_forget(fs);
	source = parent_of(fs, from, false, &old);
	target = parent_of(fs, to, true, &new);
	if (source < 0 || target < 0)
		return io_fault(f, "open", from);
	for (int i = 1; i < 100000; i++) {
		snprintf(name, sizeof(name), i > 1 ? "%s-%d" : "%s", new, i);
		if (renameat2(source, old, target, name, RENAME_NOREPLACE) == 0 ||
		    errno == ENOENT) {
			fs->made = true;
			return 0;
		}
		if (errno != EEXIST)
			break;
	}
	return io_fault(f, "archive", from);
}

static int purge_at(int dir, const char *name);

static int purge_each(void *with, const char *name)
{
	return purge_at(*(const int *)with, name);
}

static int purge_at(int dir, const char *name)
{
	int below, rc;

	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -1;
	below = open_below(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	if (below < 0)
		return -1;
	rc = list_open(below, purge_each, &below);
	close(below);
	return rc < 0 ? rc : unlinkat(dir, name, AT_REMOVEDIR);
}

int files_purge(struct files *fs, const char *folder, struct fault *f)
{
	const char *name;
	int dir;

	files_forget(fs);
	dir = parent_of(fs, folder, false, &name);
	if (dir < 0)
		return errno == ENOENT ? 0 : io_fault(f, "open", folder);
	fs->made = true;
	return purge_at(dir, name) < 0 ? io_fault(f, "remove", folder) : 0;
}

/* --- opening ----------------------------------------------------------------------------------- */

/* mkdir -p */
static int make_root(const char *path)
{
	char copy[4200];

	if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	for (char *c = copy + 1; *c; c++) {
		if (*c != '/')
			continue;
		*c = '\0';
		if (mkdir(copy, 0777) < 0 && errno != EEXIST)
			return -1;
		*c = '/';
	}
	return mkdir(copy, 0777) < 0 && errno != EEXIST ? -1 : 0;
}

int files_open(struct files *fs, const char *root, struct fault *f)
{
	struct timespec now;

	*fs = (struct files){ .root_path = root, .root = -1, .stage = -1 };
	for (int i = 0; i < FILES_FOLDERS; i++)
		fs->folders[i].fd = -1;
	clock_gettime(CLOCK_REALTIME, &now);
	fs->serial = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	fs->root = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fs->root < 0 && errno == ENOENT && make_root(root) == 0)
		fs->root = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fs->root < 0)
		return io_fault(f, "open the root", root);
	fs->stage = step_into(fs, fs->root, stage_name);
	if (fs->stage < 0) {
		io_fault(f, "make", stage_name);
		files_close(fs);
		return f->code;
	}
	return 0;
}

void files_close(struct files *fs)
{
	if (!fs->root_path)
		return;
	files_forget(fs);
	if (fs->stage >= 0)
		close(fs->stage);
	if (fs->root >= 0)
		close(fs->root);
	free(fs->staged);
	text_release(&fs->old);
	text_release(&fs->new);
	*fs = (struct files){ 0 };
}
