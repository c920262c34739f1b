#include "core/machine/copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/durable.h"

enum { DEPTH_MOST = 256, FILES_OPEN = 32 };

static int failed(struct fault *f, const char *what, const char *name)
{
	return fault_set(f, FAULT_IO, "", "cannot %s %s: %s", what, name,
			 strerror(errno));
}

/* The kernel copies, and shares blocks where it can; what it cannot do between
 * these two files goes through this process. */
static int copy_bytes(int from, int to)
{
	char buffer[64 << 10];
	ssize_t n, m;

	if (ioctl(to, FICLONE, from) == 0)
		return 0;
	do
		n = copy_file_range(from, NULL, to, NULL, 1 << 30, 0);
	while (n > 0);
	if (n == 0)
		return 0;
	while ((n = read(from, buffer, sizeof(buffer))) > 0)
		for (ssize_t at = 0; at < n; at += m)
			if ((m = write(to, buffer + at, (size_t)(n - at))) < 0)
				return -1;
	return n < 0 ? -1 : 0;
}

static int copy_content(int from, int to_dir, const char *name, struct fault *f)
{
	struct stat st;
	int to, rc = 0;

	if (fstat(from, &st))
		return failed(f, "read", name);
	if (!S_ISREG(st.st_mode))
		return fault_set(f, FAULT_IO, "", "%s is no file any more", name);
	to = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (to < 0 || copy_bytes(from, to) || fchmod(to, st.st_mode & 07777) ||
	    futimens(to, (const struct timespec[]){ st.st_atim, st.st_mtim }))
		rc = failed(f, "copy", name);
	if (to >= 0)
		close(to);
	return rc;
}

/* A pipe that has taken the file's place must not hold this up. */
int file_copy(int from_dir, int to_dir, const char *name, struct fault *f)
{
	int from = openat(from_dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int rc;

	if (from < 0)
		return failed(f, "read", name);
	rc = copy_content(from, to_dir, name, f);
	close(from);
	return rc;
}

static int copy_link(int from_dir, int to_dir, const char *name, struct fault *f)
{
	char target[4096];
	ssize_t n = readlinkat(from_dir, name, target, sizeof(target) - 1);

	if (n < 0)
		return failed(f, "read", name);
	target[n] = '\0';
	if (symlinkat(target, to_dir, name))
		return failed(f, "copy", name);
	return 0;
}

/* The directories that a walk stands in. */
struct walk {
	int in, out, depth;
	const char *except;
};

static int copy_dir(const struct walk *up, const char *from, const char *to,
		    struct fault *f);

static int copy_entry(const struct walk *w, const char *name, struct fault *f)
{
	struct stat st;

	if (!strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, w->except))
		return 0;
	if (fstatat(w->in, name, &st, AT_SYMLINK_NOFOLLOW))
		/* It may have been removed since; that is no fault of ours. */
		return errno == ENOENT ? 0 : failed(f, "read", name);
	if (S_ISDIR(st.st_mode))
		return copy_dir(w, name, name, f);
	if (S_ISLNK(st.st_mode))
		return copy_link(w->in, w->out, name, f);
	if (S_ISREG(st.st_mode))
		return file_copy(w->in, w->out, name, f);
	return 0;
}

/* The last thing done to a copied directory: what is put in it changes these. */
static int finish_dir(int dir, const struct stat *st)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };

	return fchmod(dir, (st->st_mode & 07777) | 0700) || futimens(dir, times);
}

static int copy_entries(DIR *dir, const struct walk *w, struct fault *f)
{
	struct dirent *e;
	int rc = 0;

	while (rc == 0 && (e = readdir(dir)))
		rc = copy_entry(w, e->d_name, f);
	return rc;
}

static int copy_dir(const struct walk *up, const char *from, const char *to,
		    struct fault *f)
{
	const int how = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (up->depth ? O_NOFOLLOW : 0);
	struct walk w = { -1, -1, up->depth + 1, up->except };
	DIR *dir = NULL;
	struct stat st;
	int rc;

	if (w.depth > DEPTH_MOST)
		return fault_set(f, FAULT_IO, "", "%s is too deep", from);
	w.in = openat(up->in, from, how);
	if (w.in < 0 || fstat(w.in, &st) || !(dir = fdopendir(w.in)))
		rc = failed(f, "read", from);
	else if (mkdirat(up->out, to, 0700) || (w.out = openat(up->out, to, how)) < 0)
		rc = failed(f, "make", to);
	else if ((rc = copy_entries(dir, &w, f)) == 0 && finish_dir(w.out, &st))
		rc = failed(f, "make", to);
	if (w.out >= 0)
		close(w.out);
	if (dir)
		closedir(dir);
	else if (w.in >= 0)
		close(w.in);
	return rc;
}

int tree_copy(const char *from, const char *to, const char *except, struct fault *f)
{
	const struct walk top = { AT_FDCWD, AT_FDCWD, 0, except };

	if (copy_dir(&top, from, to, f))
		return f->code;
	return tree_sync(to) ? failed(f, "sync", to) : 0;
}

static int remove_entry(const char *path, const struct stat *st, int type,
			struct FTW *walk)
{
	(void)st;
	(void)walk;
	/* A directory that its owner made unreadable is still his to remove. */
	if (type == FTW_DNR && chmod(path, 0700) == 0)
		return nftw(path, remove_entry, FILES_OPEN, FTW_DEPTH | FTW_PHYS);
	if (remove(path) && errno != ENOENT)
		return -1;
	return 0;
}

int tree_remove(const char *path, struct fault *f)
{
	if (nftw(path, remove_entry, FILES_OPEN, FTW_DEPTH | FTW_PHYS))
		return errno == ENOENT ? 0 : failed(f, "remove", path);
	return dir_sync_above(path) ? failed(f, "sync what held", path) : 0;
}
