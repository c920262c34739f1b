#include "core/mirror/mirror_file_inside.h"

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
#include <unistd.h>

#include "core/base/clock.h"
#include "core/machine/private.h"
#include "storage/durable.h"

static const char stage_name[] = ".cadre-stage";

int files_fault(struct fault *f, const char *what, const char *path)
{
	int error = errno;
	enum fault_code code = error == ENOSPC || error == EDQUOT ? FAULT_UNAVAILABLE
								  : FAULT_IO;

	return fault_set(f, code, "", "cannot %s %s in the vault: %s", what, path,
			 strerror(error));
}

/* --- folders -------------------------------------------------------------------- */

int files_open_below(int root, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC),
		.mode = flags & O_CREAT ? PRIVATE_FILE : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

int files_move_aside(int dir, const char *name)
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

/* Opens one folder of a path below `dir`, made if it is not there and `make`. */
static int mirror_file_step_into(struct files *fs, int dir, const char *name, bool make)
{
	for (int tries = 0; tries < 4; tries++) {
		int fd;

		if (fs->mends)
			private_enter_at(dir, name, PRIVATE_LOOK);
		fd = files_open_below(dir, name, O_RDONLY | O_DIRECTORY);
		if (fd >= 0)
			return fd;
		if (!make) {
			return -1;
		} else if (errno == ENOENT) {
			if (mkdirat(dir, name, PRIVATE_FOLDER) == 0)
				fs->made = true;
			else if (errno != EEXIST)
				return -1;
		} else if (errno != ENOTDIR && errno != ELOOP) {
			return -1;
		} else if (files_move_aside(dir, name) < 0 && errno != ENOENT) {
			return -1;
		}
	}
	return -1;
}

static int enter_folders(struct files *fs, const char *path, bool make)
{
	char copy[FILES_PATH], *rest = copy, *name;
	int dir = fs->root;

	snprintf(copy, sizeof(copy), "%s", path);
	while ((name = strsep(&rest, "/"))) {
		int next = mirror_file_step_into(fs, dir, name, make);

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

int files_folder(struct files *fs, const char *path, bool make)
{
	struct files_folder *slot;
	int fd;

	for (int i = 0; i < FILES_FOLDERS; i++)
		if (fs->folders[i].fd >= 0 && strcmp(fs->folders[i].path, path) == 0)
			return fs->folders[i].fd;
	fd = files_open_below(fs->root, path, O_RDONLY | O_DIRECTORY);
	if (fd < 0 && (make || errno == EACCES))
		fd = enter_folders(fs, path, make);
	if (fd < 0)
		return -1;
	if (fs->mends)
		private_enter(fd);
	slot = &fs->folders[fs->turn++ % FILES_FOLDERS];
	if (slot->fd >= 0)
		close(slot->fd);
	snprintf(slot->path, sizeof(slot->path), "%s", path);
	if (fs->losses)
		losses_folder(fs->losses, path, fd);
	return slot->fd = fd;
}

/* --- reading and writing ----------------------------------------------------------- */

int files_read_whole(int fd, struct text *out)
{
	char piece[16384];
	ssize_t n;

	out->len = 0;
	do {
		n = read(fd, piece, sizeof(piece));
		if (n > 0)
			text_add(out, piece, (size_t)n);
		else if (n < 0 && errno != EINTR)
			return -1;
	} while ((n < 0 || n == sizeof(piece)) && out->len <= FILES_TEXT);
	return 0;
}

/* Reads a regular file: 1, 0 if there is none that can be read, -1. */
static int read_at(int dir, const char *name, struct text *out)
{
	int fd = files_open_below(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	int rc = 0;

	if (fd < 0)
		return errno == ENOENT || errno == ELOOP || errno == ENXIO ||
				       errno == EACCES
			       ? 0
			       : -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		rc = files_read_whole(fd, out) < 0 ? -1 : 1;
	close(fd);
	return rc;
}

int files_write(int dir, const char *name, const struct text *text, bool sync)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
			PRIVATE_FILE);
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
	if (done == text->len && ftruncate(fd, (off_t)done) == 0 &&
	    (!sync || fdatasync(fd) == 0) && close(fd) == 0)
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
	int dir = files_folder(fs, folder, false), rc;

	out->len = 0;
	if (dir < 0)
		return errno == ENOENT || errno == ELOOP || errno == ENOTDIR
			       ? 0
			       : files_fault(f, "open", folder);
	rc = read_at(dir, name, out);
	return rc < 0 ? files_fault(f, "read", name) : rc;
}

int files_note(struct files *fs, const char *name, const char *line, struct fault *f)
{
	int flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK;
	int fd = files_open_below(fs->root, name, flags);
	size_t len = strlen(line);
	bool done = fd >= 0 && pwrite(fd, line, len, 0) == (ssize_t)len &&
		    ftruncate(fd, (off_t)len) == 0;

	if (!done)
		files_fault(f, "write", name);
	if (fd >= 0)
		close(fd);
	return done ? 0 : (int)f->code;
}

int files_list_open(int fd, int (*each)(void *with, const char *name), void *with)
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

int files_list(struct files *fs, const char *folder,
	       int (*each)(void *with, const char *name), void *with, struct fault *f)
{
	int fd = files_folder(fs, folder, false), rc;

	if (fd < 0)
		return errno == ENOENT || errno == ELOOP || errno == ENOTDIR
			       ? 0
			       : files_fault(f, "open", folder);
	errno = 0;
	rc = files_list_open(fd, each, with);
	return rc == -1 && errno ? files_fault(f, "list", folder) : rc;
}

/* --- whole folders ------------------------------------------------------------------------- */

/* The folder that holds `path`, and its name there. */
static int parent_of(struct files *fs, const char *path, bool make, const char **name)
{
	const char *slash = strrchr(path, '/');
	char parent[FILES_PATH];

	snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
	*name = slash + 1;
	return files_folder(fs, parent, make);
}

bool files_there(struct files *fs, const char *path)
{
	struct stat st;

	return fstatat(fs->root, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

bool files_is_folder(struct files *fs, const char *path)
{
	struct stat st;

	return fstatat(fs->root, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

int files_move(struct files *fs, const char *from, const char *to, struct fault *f)
{
	const char *old, *new;
	char name[FILES_PATH + 16];
	int source, target;

	files_forget(fs);
	fs->moved[0] = '\0';
	source = parent_of(fs, from, false, &old);
	target = parent_of(fs, to, true, &new);
	if (source < 0 || target < 0)
		return files_fault(f, "open", from);
	for (int i = 1; i < 100000; i++) {
		snprintf(name, sizeof(name), i > 1 ? "%s-%d" : "%s", new, i);
		if (renameat2(source, old, target, name, RENAME_NOREPLACE) == 0) {
			snprintf(fs->moved, sizeof(fs->moved), "%.*s%s", (int)(new - to),
				 to, name);
			if (fs->losses)
				losses_moved(fs->losses, from, fs->moved);
			fs->made = true;
			return 0;
		}
		if (errno == ENOENT)
			return 0;
		if (errno != EEXIST)
			break;
	}
	return files_fault(f, "move", from);
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
	below = files_open_below(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	if (below < 0)
		return -1;
	rc = files_list_open(below, purge_each, &below);
	close(below);
	return rc < 0 ? rc : unlinkat(dir, name, AT_REMOVEDIR);
}

int files_open_up(struct files *fs, const char *folder, struct fault *f)
{
	const char *name;
	int dir = parent_of(fs, folder, false, &name);

	if (dir < 0)
		return errno == ENOENT ? 0 : files_fault(f, "open", folder);
	private_tree_at(dir, name);
	return 0;
}

int files_purge(struct files *fs, const char *folder, struct fault *f)
{
	const char *name;
	int dir;

	files_forget(fs);
	dir = parent_of(fs, folder, false, &name);
	if (dir < 0)
		return errno == ENOENT ? 0 : files_fault(f, "open", folder);
	fs->made = true;
	return purge_at(dir, name) < 0 ? files_fault(f, "remove", folder) : 0;
}

/* --- opening ----------------------------------------------------------------------------------- */

int files_open(struct files *fs, const char *root, struct fault *f)
{
	*fs = (struct files){ .root_path = root, .root = -1, .stage = -1 };
	for (int i = 0; i < FILES_FOLDERS; i++)
		fs->folders[i].fd = -1;
	fs->serial = (uint64_t)clock_wall_ns();
	fs->root = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fs->root < 0 && errno == ENOENT && dir_make_all(root, 0700) == 0)
		fs->root = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fs->root < 0)
		return files_fault(f, "open the root", root);
	fs->stage = mirror_file_step_into(fs, fs->root, stage_name, true);
	if (fs->stage < 0) {
		files_fault(f, "make", stage_name);
		files_close(fs);
		return f->code;
	}
	return 0;
}

int files_open_mending(struct files *fs, const char *root, struct fault *f)
{
	int rc;

	private_enter_root(root);
	if ((rc = files_open(fs, root, f)) == 0)
		fs->mends = true;
	return rc;
}

void files_close(struct files *fs)
{
	if (!fs->root_path)
		return;
	files_forget(fs);
	if (fs->stage >= 0) {
		files_drop_spares(fs);
		close(fs->stage);
	}
	if (fs->root >= 0)
		close(fs->root);
	free(fs->staged);
	text_release(&fs->old);
	text_release(&fs->new);
	*fs = (struct files){ 0 };
}
