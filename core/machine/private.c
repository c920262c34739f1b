#include "core/machine/private.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MOST = 256 };

static void close_entry(int dir, const char *name, dev_t device, int depth);

/* Makes the entries in a folder private. `fd` is an O_PATH descriptor of the folder. */
static void close_below(int fd, dev_t device, int depth)
{
	int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again >= 0 ? fdopendir(again) : NULL;
	struct dirent *entry;

	if (!dir) {
		if (again >= 0)
			close(again);
		return;
	}
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			close_entry(again, entry->d_name, device, depth + 1);
	closedir(dir);
}

static bool is_ours_alone(const struct stat *st)
{
	return st->st_uid == geteuid() && !S_ISLNK(st->st_mode) &&
	       (S_ISDIR(st->st_mode) || st->st_nlink == 1);
}

static bool private_is_shut(const struct stat *st)
{
	return S_ISDIR(st->st_mode) && (st->st_mode & PRIVATE_LOOK) != PRIVATE_LOOK;
}

/* Sets the mode of the file that the O_PATH descriptor `fd` refers to. fchmod() refuses such
 * descriptors. */
static void set_mode(int fd, mode_t mode)
{
	char itself[40];

	snprintf(itself, sizeof(itself), "/proc/self/fd/%d", fd);
	(void)!chmod(itself, mode);
}

static void close_entry(int dir, const char *name, dev_t device, int depth)
{
	int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && (depth == 0 || st.st_dev == device)) {
		if (is_ours_alone(&st) && ((st.st_mode & 077) || private_is_shut(&st)))
			set_mode(fd, (st.st_mode & 07700) |
					     (private_is_shut(&st) ? PRIVATE_FOLDER : 0));
		if (S_ISDIR(st.st_mode) && depth < DEPTH_MOST)
			close_below(fd, st.st_dev, depth);
	}
	close(fd);
}

void private_tree_at(int dir, const char *name)
{
	close_entry(dir, name, 0, 0);
}

void private_tree(const char *path)
{
	private_tree_at(AT_FDCWD, path);
}
