#include "storage/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int close_after(int fd, int rc)
{
	int error = errno;

	if (fd >= 0)
		close(fd);
	errno = error;
	return rc;
}

/* On some file systems an fsync() of a folder fails with EINVAL, since there is nothing to
 * sync. EINVAL is ignored. */
int dir_sync(int fd)
{
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = own < 0 || (fsync(own) && errno != EINVAL) ? -1 : 0;

	return close_after(own, rc);
}

int dir_sync_path(const char *path)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return close_after(fd, fd < 0 ? -1 : dir_sync(fd));
}

int dir_sync_above(const char *path)
{
	char above[PATH_MAX];
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	while (n > 0 && path[n - 1] != '/')
		n--;
	while (n > 1 && path[n - 1] == '/')
		n--;
	if (n >= sizeof(above)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(above, path, n);
	above[n] = '\0';
	return dir_sync_path(n ? above : ".");
}

/* Syncs the entry of `path` in the folder above. If the process has no right to read the folder
 * above, it cannot open that folder for fsync(), so the whole file system is synced. */
static int sync_entry(const char *path)
{
	int rc = dir_sync_above(path);

	return rc && errno == EACCES ? tree_sync(path) : rc;
}

int dir_have(const char *path, mode_t mode)
{
	return mkdir(path, mode) && errno != EEXIST ? -1 : 0;
}

int dir_make(const char *path, mode_t mode)
{
	return dir_have(path, mode) ? -1 : sync_entry(path);
}

int dir_make_all(const char *path, mode_t mode)
{
	char part[PATH_MAX];

	if (snprintf(part, sizeof(part), "%s", path) >= (int)sizeof(part)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	for (char *s = part + 1; part[0] && (s = strchr(s, '/')); s++) {
		*s = '\0';
		if (mkdir(part, mode) == 0 ? sync_entry(part) : errno != EEXIST)
			return -1;
		*s = '/';
	}
	return dir_make(part, mode);
}

int tree_sync(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return close_after(fd, fd < 0 ? -1 : syncfs(fd));
}

int fd_write_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}
