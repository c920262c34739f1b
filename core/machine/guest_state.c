#include "core/machine/guest_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/machine/machine_copy.h"
#include "storage/durable.h"

/* Files that an earlier version's guest kept in the workspace's `.cadre`; a spool
 * that was set aside belongs to no guest. */
static const char *const own_names[] = { "spool.db", "spool.db-wal", "spool.db-shm",
					 "guest.lock" };
enum { OWN_NAMES = sizeof(own_names) / sizeof(own_names[0]) };

static int guest_state_failed(struct fault *f, const char *what, const char *path)
{
	return fault_set(f, FAULT_IO, "", "cannot %s %.180s: %s", what, path,
			 strerror(errno));
}

static const char *parent_path(struct arena *a, const struct workspace_spec *spec)
{
	return arena_printf(a, "%s/guests", spec->home);
}

const char *guest_state_path(struct arena *a, const struct workspace_spec *spec)
{
	return arena_printf(a, "%s/guests/%s", spec->home, spec->id);
}

/* The path of the guest's folder while it is being moved. */
static const char *half_path(struct arena *a, const struct workspace_spec *spec)
{
	return arena_printf(a, "%s.half", guest_state_path(a, spec));
}

static bool is_folder(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int guest_state_make_parent(struct arena *a, const struct workspace_spec *spec,
				   struct fault *f)
{
	const char *path = parent_path(a, spec);

	return dir_make(path, 0700) ? guest_state_failed(f, "make", path) : 0;
}

int guest_state_make(const struct workspace_spec *spec, struct fault *f)
{
	struct arena a = { 0 };
	const char *path = guest_state_path(&a, spec);

	if (guest_state_make_parent(&a, spec, f) == 0 && dir_make(path, 0700))
		guest_state_failed(f, "make", path);
	else if (!f->code && !is_folder(path))
		fault_set(f, FAULT_CONFLICT, "", "%.180s is a link, and no guest's",
			  path);
	arena_release(&a);
	return f->code;
}

int guest_state_stamp(const struct workspace_spec *spec, bool anew, struct fault *f)
{
	struct arena a = { 0 };
	const char *path = arena_printf(&a, "%s.whole", guest_state_path(&a, spec));
	int fd;

	if (anew && unlink(path) && errno != ENOENT)
		guest_state_failed(f, "remove", path);
	fd = f->code ? -1 : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	else if (!f->code && errno != ENOENT && errno != EEXIST)
		guest_state_failed(f, "make", path);
	arena_release(&a);
	return f->code;
}

/* --- from the workspace --------------------------------------------------------- */

/* A link in its place is none of a guest's making. */
static int guest_state_open_old(const struct workspace_spec *spec)
{
	int at = open(spec->path, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;

	if (at >= 0)
		fd = openat(at, ".cadre",
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (at >= 0)
		close(at);
	return fd;
}

static bool guest_state_is_file(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

/* Removes what is no file.  A link may be put in a file's place just before it is moved,
 * by all who may write in the workspace; here nobody else can write. */
static int drop_strange(int to, struct fault *f)
{
	struct stat st;

	for (int i = 0; i < OWN_NAMES && !f->code; i++)
		if (fstatat(to, own_names[i], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    !S_ISREG(st.st_mode) && unlinkat(to, own_names[i], 0))
			guest_state_failed(f, "remove", own_names[i]);
	return f->code;
}

/* Moves file by file, and nothing but files.  Files that were moved by a call that was
 * broken off are in `half` and stay.  True when the folders are on two file systems, so
 * that none can be moved. */
static bool move_files(int old, const char *half, struct fault *f)
{
	int to = open(half, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool apart = false;

	if (to < 0) {
		guest_state_failed(f, "open", half);
		return false;
	}
	for (int i = 0; i < OWN_NAMES && !apart && !f->code; i++) {
		if (!guest_state_is_file(old, own_names[i]))
			continue;
		if (renameat2(old, own_names[i], to, own_names[i], RENAME_NOREPLACE) == 0)
			continue;
		apart = errno == EXDEV;
		if (!apart && errno != ENOENT && errno != EEXIST)
			guest_state_failed(f, "move", own_names[i]);
	}
	if (!apart && !f->code && drop_strange(to, f) == 0 && (fsync(to) || fsync(old)))
		guest_state_failed(f, "sync", half);
	close(to);
	return apart;
}

/* Copies the files, since between two file systems none can be moved; the old folder
 * goes when the new one is whole. */
static int copy_files(int old, const char *half, struct fault *f)
{
	int to = -1;

	if (tree_remove(half, f) < 0)
		return f->code;
	if (mkdir(half, 0700) ||
	    (to = open(half, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		return guest_state_failed(f, "make", half);
	for (int i = 0; i < OWN_NAMES && !f->code; i++)
		if (guest_state_is_file(old, own_names[i]))
			file_copy(old, to, own_names[i], f);
	if (!f->code && tree_sync(half))
		guest_state_failed(f, "sync", half);
	close(to);
	return f->code;
}

static void remove_old(const struct workspace_spec *spec, int old)
{
	int at = open(spec->path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0; i < OWN_NAMES; i++)
		unlinkat(old, own_names[i], 0);
	if (at < 0)
		return;
	/* Fails if other files are in `.cadre`: those are not the guest's. */
	unlinkat(at, ".cadre", AT_REMOVEDIR);
	close(at);
}

static int move_old(const struct workspace_spec *spec, int old, struct arena *a,
		    struct fault *f)
{
	const char *half = half_path(a, spec), *path = guest_state_path(a, spec);

	if (dir_make(half, 0700))
		return guest_state_failed(f, "make", half);
	if (old >= 0 && move_files(old, half, f))
		copy_files(old, half, f);
	if (!f->code && (chmod(half, 0700) || rename(half, path) || dir_sync_above(path)))
		guest_state_failed(f, "make", path);
	if (!f->code && old >= 0)
		remove_old(spec, old);
	return f->code;
}

int guest_state_settle(const struct workspace_spec *spec, struct fault *f)
{
	struct arena a = { 0 };
	int old;

	if (!is_folder(guest_state_path(&a, spec))) {
		old = guest_state_open_old(spec);
		if (!is_folder(half_path(&a, spec)) &&
		    (old < 0 || !guest_state_is_file(old, "spool.db")))
			guest_state_make(spec, f);
		else if (guest_state_make_parent(&a, spec, f) == 0)
			move_old(spec, old, &a, f);
		if (old >= 0)
			close(old);
	}
	arena_release(&a);
	return f->code;
}

int guest_state_remove(const struct workspace_spec *spec, struct fault *f)
{
	struct arena a = { 0 };

	if (tree_remove(guest_state_path(&a, spec), f) == 0 &&
	    tree_remove(half_path(&a, spec), f) == 0 &&
	    tree_remove(arena_printf(&a, "%s.whole", guest_state_path(&a, spec)), f) == 0)
		tree_remove(arena_printf(&a, "%s.seq", guest_state_path(&a, spec)), f);
	arena_release(&a);
	return f->code;
}
