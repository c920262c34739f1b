#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/machine/file_place.h"
#include "core/machine/private.h"
#include "core/mirror/mirror_file.h"
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

/* Opens the folder `name` in `dir`, and makes the folder if it is missing. */
static int mirror_file_step_into(struct files *fs, int dir, const char *name)
{
	for (int tries = 0; tries < 4; tries++) {
		int fd = files_open_below(dir, name, O_RDONLY | O_DIRECTORY);

		if (fd >= 0)
			return fd;
		if (errno == ENOENT) {
			if (mkdirat(dir, name, PRIVATE_FOLDER) == 0)
				fs->made = true;
			else if (errno != EEXIST)
				return -1;
		} else if (errno != ENOTDIR && errno != ELOOP) {
			return -1;
		} else if (file_keep(dir, name, dir, name) < 0 && errno != ENOENT) {
			return -1;
		}
	}
	return -1;
}

static int enter_folders(struct files *fs, const char *path)
{
	char copy[FILES_PATH], *rest = copy, *name;
	int dir = fs->root;

	snprintf(copy, sizeof(copy), "%s", path);
	while ((name = strsep(&rest, "/"))) {
		int next = mirror_file_step_into(fs, dir, name);

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
	if (fd < 0 && make)
		fd = enter_folders(fs, path);
	if (fd < 0)
		return -1;
	slot = &fs->folders[fs->turn++ % FILES_FOLDERS];
	if (slot->fd >= 0)
		close(slot->fd);
	snprintf(slot->path, sizeof(slot->path), "%s", path);
	if (fs->losses)
		losses_folder(fs->losses, path, fd);
	return slot->fd = fd;
}

/* --- reading and writing ----------------------------------------------------------- */

/* Reads an open file. Returns 0, or -1 with errno. If the file is larger than FILES_TEXT, stops
 * when more than FILES_TEXT bytes are read. */
static int files_read_whole(int fd, struct text *out)
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

/* Reads a regular file. Returns 1 if the file was read, 0 if there is no readable file `name`,
 * or -1 on failure. */
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
	int error = 0;

	if (fd < 0)
		return -1;
	if (fd_write_all(fd, text->data, text->len) || ftruncate(fd, (off_t)text->len) ||
	    (sync && fdatasync(fd)))
		error = errno;
	if (close(fd) && !error)
		error = errno;
	if (!error)
		return 0;
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

/* Opens the folder that contains `path`, and sets *name to the last part of the path. */
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

/* Leaves hidden files in place. Hidden files are no notes, so nobody has agreed to their
 * removal, and the trash does not list the hidden files. */
static int purge_each(void *with, const char *name)
{
	return *name == '.' ? 0 : purge_at(*(const int *)with, name);
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
	if (rc == 0 && unlinkat(dir, name, AT_REMOVEDIR) && errno != ENOTEMPTY)
		return -1;
	return rc;
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
	fs->stage = mirror_file_step_into(fs, fs->root, stage_name);
	if (fs->stage < 0) {
		files_fault(f, "make", stage_name);
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

/* Moves new files into their places, and removes or keeps the files that were replaced. */

enum {
	FEW = 8, /* maximum number of files that are synced one by one, without
		    syncfs() */
	NEW_NAME = 32,
	STAGE_NAME = 340,
};

/* A new file that is in the stage and not placed yet. */
struct staged {
	char name[NEW_NAME]; /* file name in the stage */
	char folder[FILES_PATH];
	char file[128];
	bool replaces; /* a file of this name existed when the new file was staged */
};

/* --- the stage ------------------------------------------------------------------------ */

int files_keep(struct files *fs, int from, const char *name, int dir, const char *file)
{
	int rc = file_keep(from, name, dir, file);

	fs->kept += rc == 0;
	return rc;
}

int files_set_aside(struct files *fs, const char *folder, const char *name,
		    struct fault *f)
{
	int dir = files_folder(fs, folder, false);

	if (dir < 0)
		return 0;
	fs->made = true;
	return files_keep(fs, dir, name, dir, name) == 0 || errno == ENOENT
		       ? 0
		       : files_fault(f, "keep", name);
}

bool files_open_elsewhere(struct files *fs, const char *folder, const char *name)
{
	int dir = files_folder(fs, folder, false), fd;
	bool written;

	if (dir < 0)
		return false;
	fd = files_open_below(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	written = fd >= 0 && file_holder(fd) == FILE_WRITTEN;
	if (fd >= 0)
		close(fd);
	return written;
}

bool files_is_edit(const struct text *file)
{
	return file->len > 0 && !page_sealed(file->data, file->len);
}

/* Returns the index of an edit in fs->expected, or FILES_EXPECTED if the edit is not expected. */
static size_t find_expected(const struct files *fs, const struct text *file)
{
	uint64_t hash = hash_more(HASH_EMPTY, file->data, file->len);
	size_t i = 0;

	while (i < FILES_EXPECTED && fs->expected[i] != hash)
		i++;
	return i;
}

bool files_is_text(const struct text *file)
{
	return file->len == 0 ||
	       (file->len <= FILES_TEXT && !memchr(file->data, 0, file->len));
}

static bool spares(const struct files *fs, const struct text *file)
{
	return fs->spare != SPARE_NOTHING && files_is_edit(file) &&
	       (fs->spare == SPARE_ALL || files_is_text(file));
}

bool files_edited(const struct files *fs, const struct text *file)
{
	return files_is_edit(file) && find_expected(fs, file) == FILES_EXPECTED;
}

void files_expect(struct files *fs, const struct text *file)
{
	fs->expected[fs->expected_turn++ % FILES_EXPECTED] =
		hash_more(HASH_EMPTY, file->data, file->len);
}

void files_unexpect(struct files *fs, const struct text *file)
{
	size_t i = find_expected(fs, file);

	if (i < FILES_EXPECTED)
		fs->expected[i] = 0;
}

/* Checks a file that was replaced. Returns 0 if the file is the mirror's own (or empty) and may
 * be removed. Returns 1 if the file must be kept, 2 if somebody is still writing the file, or
 * -1 on failure. Sets *spare to whether the file may be overwritten. */
static int mirror_stage_look_at(struct files *fs, const char *staged, bool *spare)
{
	int fd = files_open_below(fs->stage, staged, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	enum file_holder holder;
	struct stat st;
	int rc = 1;

	if (fd < 0)
		return errno == ELOOP || errno == ENXIO || errno == EACCES ? 1 : -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		holder = file_holder(fd);
		if (holder == FILE_WRITTEN)
			rc = 2; /* the writer may still add text */
		else if (files_read_whole(fd, &fs->old) < 0)
			rc = -1;
		else if (!files_edited(fs, &fs->old))
			rc = 0;
		/* A spare file must have only this one name, and must be as private as a new
		 * file. */
		*spare = rc == 0 && holder == FILE_FREE && st.st_nlink == 1 &&
			 (st.st_mode & 07777) == 0600;
	}
	close(fd);
	return rc;
}

static void new_as(char out[NEW_NAME], uint64_t serial)
{
	snprintf(out, NEW_NAME, "new~%016" PRIx64, serial);
}

/* If `spare` is set and there is room for another spare file, keeps the replaced file so that
 * later contents can overwrite it. Otherwise removes the replaced file. Spare files are kept
 * because under load most of the mirror's cost is the making and removing of inodes. A spare
 * file gets a new name, which says that the file may be dropped after a crash. The new name
 * must be on the disk before the file is overwritten. */
static int mirror_stage_set_aside(struct files *fs, const char *staged, bool spare)
{
	char name[NEW_NAME];

	if (!spare || fs->n_spares + fs->n_freed == FILES_SPARES)
		return unlinkat(fs->stage, staged, 0);
	new_as(name, fs->serial);
	if (renameat(fs->stage, staged, fs->stage, name) < 0)
		return -1;
	fs->freed[fs->n_freed++] = fs->serial++;
	return 0;
}

/* The names under which the files in fs->freed are set aside are now on the disk, so later
 * contents may overwrite these files. */
static void free_spares(struct files *fs)
{
	while (fs->n_freed)
		fs->spares[fs->n_spares++] = fs->freed[--fs->n_freed];
}

void files_drop_spares(struct files *fs)
{
	char name[NEW_NAME];

	free_spares(fs);
	while (fs->n_spares) {
		new_as(name, fs->spares[--fs->n_spares]);
		unlinkat(fs->stage, name, 0);
	}
}

/* Removes or keeps the file `staged`, which was replaced at FOLDER/FILE. */
static int mirror_stage_settle(struct files *fs, const char *staged, const char *folder,
			       const char *file)
{
	bool spare = false;
	int rc = mirror_stage_look_at(fs, staged, &spare), dir;

	if (rc == 0)
		return mirror_stage_set_aside(fs, staged, spare);
	if (rc == 2)
		fs->left = true;
	if (rc != 1)
		return rc == 2 ? 0 : -1;
	dir = files_folder(fs, folder, true);
	return dir < 0 ? -1 : files_keep(fs, fs->stage, staged, dir, file);
}

/* Makes the name of a whole file in the stage. The file was replaced, or is about to be placed.
 * The name of a whole file begins with `old`. A file with any other name may be incomplete, and
 * is dropped after a crash. */
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
	return mirror_stage_settle(fs, name, folder, file);
}

static int settle_each(void *with, const char *name)
{
	int rc = settle_left(with, name);

	return rc < 0 && errno != ENOENT ? -1 : 0;
}

int files_settle(struct files *fs, struct fault *f)
{
	fs->left = false;
	if (files_list_open(fs->stage, settle_each, fs) < 0)
		return files_fault(f, "settle", "the stage");
	return 0;
}

/* --- placing ----------------------------------------------------------------------------- */

/* Stages the contents fs->new for FOLDER/NAME. Returns 1 or a negative fault code. */
static int mirror_stage_new(struct files *fs, const char *folder, const char *name,
			    bool replaces, struct fault *f)
{
	struct staged *s;

	if (fs->n_staged == fs->staged_room) {
		fs->staged_room = fs->staged_room ? fs->staged_room * 2 : 64;
		fs->staged = xreallocarray(fs->staged, fs->staged_room, sizeof(*s));
	}
	s = &fs->staged[fs->n_staged];
	new_as(s->name, fs->n_spares ? fs->spares[--fs->n_spares] : fs->serial++);
	snprintf(s->folder, sizeof(s->folder), "%s", folder);
	snprintf(s->file, sizeof(s->file), "%s", name);
	s->replaces = replaces;
	if (files_write(fs->stage, s->name, &fs->new, fs->n_staged < FEW) < 0)
		return files_fault(f, "write", name);
	fs->n_staged++;
	return 1;
}

int files_put(struct files *fs, const char *folder, const char *name,
	      const struct page *page, int64_t rev, struct fault *f)
{
	int rc = files_read(fs, folder, name, &fs->old, f);

	if (rc < 0)
		return rc;
	if (rc == 1 && page_same(page, fs->old.data, fs->old.len))
		return 0;
	if (rc == 1 &&
	    (spares(fs, &fs->old) || (fs->spare == SPARE_TEXTS && fs->losses &&
				      files_open_elsewhere(fs, folder, name)))) {
		if (fs->losses)
			losses_edited(fs->losses, folder, name);
		return 0;
	}
	fs->new.len = 0;
	page_seal(page, rev, &fs->new);
	return mirror_stage_new(fs, folder, name, rc == 1, f);
}

int files_replace(struct files *fs, const char *folder, const char *name,
		  const struct text *text, struct fault *f)
{
	files_expect(fs, &fs->old);
	fs->new.len = 0;
	text_add(&fs->new, text->data, text->len);
	return mirror_stage_new(fs, folder, name, true, f);
}

static int mirror_stage_place(struct files *fs, struct staged *s)
{
	char old[STAGE_NAME];
	int dir = files_folder(fs, s->folder, true), rc;

	if (dir < 0)
		return -1;
	fs->placed++;
	if (!s->replaces) {
		if (renameat2(fs->stage, s->name, dir, s->file, RENAME_NOREPLACE) == 0)
			return 0;
		if (errno != EEXIST)
			return -1;
	}
	/* The new name of the file marks the file as whole. */
	stage_as(old, fs->serial++, s->folder, s->file);
	if (renameat(fs->stage, s->name, fs->stage, old) < 0)
		return -1;
	rc = file_exchange(fs->stage, old, dir, s->file);
	return rc > 0 ? mirror_stage_settle(fs, old, s->folder, s->file) : rc;
}

/* Moves a removed file into the folder fs->attic, under the file's old path. Returns 0 or -1. */
static int keep_away(struct files *fs, const char *staged, const char *folder,
		     const char *file)
{
	char dir[4600], path[4900];

	snprintf(dir, sizeof(dir), "%s/%s", fs->attic, folder);
	snprintf(path, sizeof(path), "%s/%s", dir, file);
	if (dir_make_all(dir, 0700) < 0 ||
	    renameat2(fs->stage, staged, AT_FDCWD, path, RENAME_NOREPLACE) < 0 ||
	    dir_sync_above(path) < 0)
		return -1;
	return 0;
}

int files_drop(struct files *fs, const char *folder, const char *name, struct fault *f)
{
	int dir = files_folder(fs, folder, false);
	char old[STAGE_NAME];
	bool spare;

	if (dir < 0)
		return errno == ENOENT ? 0 : files_fault(f, "open", folder);
	stage_as(old, fs->serial++, folder, name);
	if (renameat(dir, name, fs->stage, old) < 0)
		return errno == ENOENT ? 0 : files_fault(f, "move", name);
	fs->made = true;
	if (fs->attic && mirror_stage_look_at(fs, old, &spare) == 0)
		return keep_away(fs, old, folder, name) < 0 ? files_fault(f, "keep", name)
							    : 0;
	return mirror_stage_settle(fs, old, folder, name) < 0
		       ? files_fault(f, "remove", name)
		       : 0;
}

/* Syncs the folders of a few placed files, one by one. */
static int sync_folders(struct files *fs)
{
	if (fs->n_freed && fsync(fs->stage) < 0)
		return -1;
	for (size_t i = 0; i < fs->n_staged; i++) {
		if (i > 0 && strcmp(fs->staged[i].folder, fs->staged[i - 1].folder) == 0)
			continue;
		if (fsync(files_folder(fs, fs->staged[i].folder, true)) < 0)
			return -1;
	}
	return 0;
}

static int place_all(struct files *fs, bool many, struct fault *f)
{
	int rc;

	if (many && syncfs(fs->root) < 0)
		return files_fault(f, "sync", fs->root_path);
	for (size_t i = 0; i < fs->n_staged; i++)
		if (mirror_stage_place(fs, &fs->staged[i]) < 0)
			return files_fault(f, "place", fs->staged[i].file);
	rc = many || fs->made ? syncfs(fs->root) : sync_folders(fs);
	if (rc < 0)
		return files_fault(f, "sync", fs->root_path);
	fs->made = false;
	free_spares(fs);
	return 0;
}

int files_commit(struct files *fs, struct fault *f)
{
	int rc = place_all(fs, fs->n_staged > FEW, f);

	/* After a failure the stage holds files, which files_settle() handles later. */
	fs->left |= rc < 0;
	fs->n_staged = 0;
	return rc;
}
