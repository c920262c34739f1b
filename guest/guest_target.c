#include "guest/guest_target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "storage/durable.h"

ssize_t file_read_range(int fd, char *to, size_t len, off_t at)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = pread(fd, to + got, len - got, at + (off_t)got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

/* Makes the folder `name` in the folder `above`, and syncs `above`. If the folder exists,
 * `above` is synced, too, because the process that made the folder may have been killed before
 * its sync. */
static int guest_target_make_folder(int above, const char *name)
{
	if (mkdirat(above, name, 0777) == 0)
		return dir_sync(above);
	if (errno != EEXIST)
		return -1;
	return dir_sync(above) && errno != EACCES ? -1 : 0;
}

/* Opens the folder of the file t->path, and makes all missing folders above the file. */
static int guest_target_open_folder(struct file_target *t, struct arena *a,
				    struct fault *f)
{
	char *rest = arena_strdup(a, t->path), *slash;

	t->folder = guest_path_open(t->guest->root, *rest == '/' ? "/" : ".",
				    O_PATH | O_DIRECTORY, t->where, f);
	rest += *rest == '/';
	while (t->folder >= 0 && (slash = strchr(rest, '/'))) {
		int above = t->folder;

		*slash = '\0';
		if (guest_target_make_folder(above, rest)) {
			close(above);
			t->folder = -1;
			return guest_path_fault(errno, t->where, t->path, f);
		}
		t->folder =
			guest_path_open(above, rest, O_PATH | O_DIRECTORY, t->where, f);
		close(above);
		rest = slash + 1;
	}
	t->name = rest;
	return t->folder < 0 ? f->code : 0;
}

static int look_at_old(struct file_target *t, struct fault *f)
{
	if (fstatat(t->folder, t->name, &t->old, AT_SYMLINK_NOFOLLOW)) {
		t->old.st_mode = 0;
		return errno == ENOENT ? 0
				       : guest_path_fault(errno, t->where, t->path, f);
	}
	if (S_ISLNK(t->old.st_mode))
		return guest_path_fault(ELOOP, t->where, t->path, f);
	if (!S_ISREG(t->old.st_mode))
		return fault_set(f, FAULT_INVALID, t->where, "%.150s is not a file",
				 t->path);
	return 0;
}

int target_open(struct guest *g, struct arena *a, struct file_target *t, const char *path,
		struct fault *f)
{
	int rc = guest_path(g, path, t->where, a, &t->path, f);

	t->guest = g;
	t->folder = t->fd = -1;
	if (!rc && (strcmp(t->path, ".") == 0 || strcmp(t->path, "/") == 0))
		rc = fault_set(f, FAULT_INVALID, t->where,
			       "the workspace itself is not a file");
	if (!rc)
		rc = guest_target_open_folder(t, a, f);
	return rc ? rc : look_at_old(t, f);
}

static bool guest_target_copy(int from, int to, off_t at, size_t len)
{
	char buf[16 << 10];

	while (len > 0) {
		size_t want = len < sizeof(buf) ? len : sizeof(buf);
		ssize_t n = file_read_range(from, buf, want, at);

		if (n <= 0 || fd_write_all(to, buf, (size_t)n))
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

static bool write_change(struct file_target *t, const struct file_change *c)
{
	size_t size = t->old.st_mode ? (size_t)t->old.st_size : 0;
	size_t behind = c->keep + c->drop;
	bool good = true;
	int old = -1;

	if (c->keep || behind < size) {
		old = openat(t->folder, t->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		good = old >= 0;
	}
	good = good && guest_target_copy(old, t->fd, 0, c->keep) &&
	       !fd_write_all(t->fd, c->data, c->len) &&
	       (behind >= size ||
		guest_target_copy(old, t->fd, (off_t)behind, size - behind));
	if (old >= 0)
		close(old);
	return good;
}

static bool make_name(struct file_target *t)
{
	unsigned char r[8];

	if (getrandom(r, sizeof(r), 0) != sizeof(r))
		return false;
	snprintf(t->temporary, sizeof(t->temporary),
		 ".cadre-%02x%02x%02x%02x%02x%02x%02x%02x", r[0], r[1], r[2], r[3], r[4],
		 r[5], r[6], r[7]);
	return true;
}

/* Makes the temporary file, without a name if possible. A file without a name gets its name
 * later through /proc, so a file without a name is made only if /proc exists. A sandbox may
 * have no /proc. */
static bool make_temporary(struct file_target *t)
{
	t->temporary[0] = '\0';
	if (access("/proc/self/fd", F_OK) == 0)
		t->fd = openat(t->folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (t->fd >= 0)
		return true;
	if (make_name(t))
		t->fd = openat(t->folder, t->temporary,
			       O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return t->fd >= 0;
}

static bool link_as(const struct file_target *t, const char *name)
{
	char self[40];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", t->fd);
	return linkat(AT_FDCWD, self, t->folder, name, AT_SYMLINK_FOLLOW) == 0;
}

/* Puts the new file in its place. If there is no old file, the new file gets its final name at
 * once. A new file that replaces an old file first gets a temporary name in the same folder,
 * and is renamed after that. */
static bool guest_target_put_in_place(struct file_target *t)
{
	if (!*t->temporary) {
		if (!t->old.st_mode && link_as(t, t->name))
			return true;
		if (!make_name(t) || !link_as(t, t->temporary)) {
			t->temporary[0] = '\0';
			return false;
		}
	}
	return renameat(t->folder, t->temporary, t->folder, t->name) == 0;
}

int target_begin(struct file_target *t, struct fault *f)
{
	return make_temporary(t) ? 0 : guest_path_fault(errno, t->where, t->path, f);
}

void target_drop(struct file_target *t)
{
	if (t->fd < 0)
		return;
	if (*t->temporary)
		unlinkat(t->folder, t->temporary, 0);
	close(t->fd);
	t->fd = -1;
}

int target_end(struct file_target *t, bool has_mode, int64_t mode, struct fault *f)
{
	mode_t old = t->old.st_mode ? t->old.st_mode & MODES : 0644;
	int rc = 0;

	if (fchmod(t->fd, has_mode ? (mode_t)mode : old) || fsync(t->fd) ||
	    !guest_target_put_in_place(t)) {
		rc = guest_path_fault(errno, t->where, t->path, f);
		target_drop(t);
		return rc;
	}
	close(t->fd);
	t->fd = -1;
	return dir_sync(t->folder) ? guest_path_fault(EIO, t->where, t->path, f) : 0;
}

int target_replace(struct file_target *t, const struct file_change *c, struct fault *f)
{
	int rc = target_begin(t, f);

	if (rc)
		return rc;
	if (write_change(t, c))
		return target_end(t, c->has_mode, c->mode, f);
	rc = guest_path_fault(errno, t->where, t->path, f);
	target_drop(t);
	return rc;
}

void target_close(struct file_target *t)
{
	if (t->folder >= 0)
		close(t->folder);
	t->folder = -1;
}

int target_check(const struct file_target *t, const struct file_change *c,
		 struct fault *f)
{
	size_t size = t->old.st_mode ? (size_t)t->old.st_size : 0;
	size_t behind = c->keep + c->drop < size ? size - c->keep - c->drop : 0;

	if (c->has_mode && (c->mode < 0 || c->mode > MODES))
		return fault_set(f, FAULT_INVALID, "/mode", "not a file mode");
	if (c->keep > size)
		return fault_set(f, FAULT_INVALID, "/offset",
				 "the offset is behind the end of the file, %zu bytes",
				 size);
	if (c->keep + c->len + behind > FILE_MAX)
		return fault_set(f, FAULT_INVALID, t->where,
				 "file too large: %zu bytes (max 32 MiB)",
				 c->keep + c->len + behind);
	return 0;
}
