/* tree_remove - removes a directory of any depth with all its content. Only the walk's current
 * directory is open. The walk returns to the directory above through `..`, and checks that `..`
 * is still the same directory as on the way down. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/machine/machine_copy.h"
#include "storage/durable.h"

/* A directory above the walk's current directory. */
struct above {
	struct above *up;
	struct stat st;
	char name[]; /* name of the next directory on the way down */
};

struct removing {
	struct above *above;
	int fd;
};

/* Opens a directory. If the owner may not read the directory, first gives the owner the right
 * to read the directory. */
static int tree_remove_open_dir(int at, const char *name)
{
	const int how = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
	int fd = openat(at, name, how);

	if (fd < 0 && errno == EACCES && fchmodat(at, name, 0700, 0) == 0)
		fd = openat(at, name, how);
	return fd;
}

/* Removes the entry `name` of the directory `fd`. Returns 0 if the entry is removed, 1 if it is
 * a directory that is not empty, or -1 with errno. */
static int remove_name(int fd, const char *name)
{
	for (int tries = 0; tries < 2; tries++) {
		if (unlinkat(fd, name, 0) == 0 || errno == ENOENT)
			return 0;
		if ((errno == EISDIR || errno == EPERM) &&
		    (unlinkat(fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT))
			return 0;
		if (errno == ENOTEMPTY || errno == EEXIST)
			return 1;
		if (errno != EACCES || fchmod(fd, 0700))
			return -1;
	}
	return -1;
}

/* Removes the entries of a directory, up to the first subdirectory that is not empty. Returns 0
 * if the directory is empty now. Returns 1 and the subdirectory's name if a subdirectory is not
 * empty, or -1 with errno. */
static int remove_names(int fd, char name[256])
{
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	DIR *dir = own < 0 ? NULL : fdopendir(own);
	struct dirent *e;

	if (!dir) {
		if (own >= 0)
			close(own);
		return -1;
	}
	while (rc == 0 && (e = readdir(dir))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		rc = remove_name(fd, e->d_name);
		memcpy(name, e->d_name, strlen(e->d_name) + 1);
	}
	closedir(dir);
	return rc;
}

static int tree_remove_go_down(struct removing *r, const char *name)
{
	struct above *above = xcalloc(1, sizeof(*above) + strlen(name) + 1);
	int fd = tree_remove_open_dir(r->fd, name);

	memcpy(above->name, name, strlen(name) + 1);
	above->up = r->above;
	r->above = above;
	if (fd < 0 || fstat(r->fd, &above->st)) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	close(r->fd);
	r->fd = fd;
	return 0;
}

static int tree_remove_go_up(struct removing *r)
{
	int fd = openat(r->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct above *above = r->above;
	struct stat st;
	int rc = -1;

	if (fd < 0)
		return -1;
	close(r->fd);
	r->fd = fd;
	if (fstat(fd, &st) == 0 &&
	    (st.st_ino != above->st.st_ino || st.st_dev != above->st.st_dev))
		errno = ESTALE;
	else if (unlinkat(fd, above->name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		rc = 0;
	r->above = above->up;
	free(above);
	return rc;
}

static int remove_below(int fd)
{
	struct removing r = { .fd = fd };
	char name[256];
	int rc, why;

	while ((rc = remove_names(r.fd, name)) >= 0) {
		if (rc == 0 && !r.above)
			break;
		if ((rc = rc ? tree_remove_go_down(&r, name) : tree_remove_go_up(&r)))
			break;
	}
	why = errno;
	while (r.above) {
		struct above *up = r.above->up;

		free(r.above);
		r.above = up;
	}
	close(r.fd);
	errno = why;
	return rc;
}

int tree_remove(const char *path, struct fault *f)
{
	int fd = tree_remove_open_dir(AT_FDCWD, path), rc = 0;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd >= 0)
		rc = remove_below(fd);
	if (rc == 0 && (fd >= 0 ? rmdir(path) : unlink(path)) && errno != ENOENT)
		rc = -1;
	if (rc)
		return fault_set(f, FAULT_IO, "", "cannot remove %s: %s", path,
				 strerror(errno));
	if (dir_sync_above(path))
		return fault_set(f, FAULT_IO, "", "cannot sync what held %s: %s", path,
				 strerror(errno));
	return 0;
}
