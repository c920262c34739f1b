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

static int copy_file(int from_dir, int to_dir, const char *name,
		     const struct stat *st, struct fault *f)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };
	int from = openat(from_dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int to = -1, rc = 0;

	if (from < 0)
		return failed(f, "read", name);
	to = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (to < 0 || copy_bytes(from, to) ||
	    fchmod(to, st->st_mode & 07777) || futimens(to, times))
		rc = failed(f, "copy", name);
	if (to >= 0)
		close(to);
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

static int copy_dir(int from_dir, const char *from, int to_dir, const char *to,
		    const char *except, int depth, struct fault *f);

static int copy_entry(int from_dir, int to_dir, const char *name,
		      const char *except, int depth, struct fault *f)
{
	struct stat st;

	if (!strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, except))
		return 0;
	if (fstatat(from_dir, name, &st, AT_SYMLINK_NOFOLLOW))
		/* It may have been removed since; that is no fault of ours. */
		return errno == ENOENT ? 0 : failed(f, "read", name);
	if (S_ISDIR(st.st_mode))
		return copy_dir(from_dir, name, to_dir, name, except, depth + 1,
				f);
	if (S_ISLNK(st.st_mode))
		return copy_link(from_dir, to_dir, name, f);
	if (S_ISREG(st.st_mode))
		return copy_file(from_dir, to_dir, name, &st, f);
	return 0;
}

/* `to` is made writable for us and gets its mode and times at the end. */
static int copy_dir(int from_dir, const char *from, int to_dir, const char *to,
		    const char *except, int depth, struct fault *f)
{
	const int how = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
	int in = openat(from_dir, from, depth ? how : how & ~O_NOFOLLOW);
	int out = -1, rc = 0;
	DIR *dir = in < 0 ? NULL : fdopendir(in);
	struct dirent *e;
	struct stat st;

	if (!dir || fstat(in, &st)) {
		rc = failed(f, "read", from);
		goto end;
	}
	if (depth > DEPTH_MOST) {
		rc = fault_set(f, FAULT_IO, "", "%s is too deep", from);
		goto end;
	}
	if (mkdirat(to_dir, to, 0700) ||
	    (out = openat(to_dir, to, how)) < 0) {
		rc = failed(f, "make", to);
		goto end;
	}
	while (rc == 0 && (e = readdir(dir)))
		rc = copy_entry(in, out, e->d_name, except, depth, f);
	if (rc == 0) {
		const struct timespec times[2] = { st.st_atim, st.st_mtim };

		if (fchmod(out, (st.st_mode & 07777) | 0700) ||
		    futimens(out, times))
			rc = failed(f, "make", to);
	}
end:
	if (out >= 0)
		close(out);
	if (dir)
		closedir(dir);
	else if (in >= 0)
		close(in);
	return rc;
}

int tree_copy(const char *from, const char *to, const char *except,
	      struct fault *f)
{
	return copy_dir(AT_FDCWD, from, AT_FDCWD, to, except, 0, f);
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
	if (nftw(path, remove_entry, FILES_OPEN, FTW_DEPTH | FTW_PHYS) == 0 ||
	    errno == ENOENT)
		return 0;
	return failed(f, "remove", path);
}
