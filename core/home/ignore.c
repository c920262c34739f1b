#include "core/home/ignore.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char name[] = ".gitignore", content[] = "*\n";

enum { LENGTH = sizeof(content) - 1 };

static bool is_right(int dir)
{
	char bytes[LENGTH + 1];
	int fd = openat(dir, name,
			O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));

	if (fd >= 0)
		close(fd);
	return n == LENGTH && !memcmp(bytes, content, LENGTH);
}

/* Renames a folder that has the file's name; its contents stay. */
static void ignore_move_folder(int dir)
{
	char aside[40];
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(st.st_mode) ||
	    unlinkat(dir, name, AT_REMOVEDIR) == 0)
		return;
	snprintf(aside, sizeof(aside), "%s.%jx", name, (uintmax_t)st.st_ino);
	renameat(dir, name, dir, aside);
}

static bool ignore_write_file(int dir)
{
	char temp[40];
	int fd;
	bool done;

	snprintf(temp, sizeof(temp), "%s.%d", name, (int)getpid());
	unlinkat(dir, temp, 0); /* a file that a killed process left */
	fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	ignore_move_folder(dir);
	done = write(fd, content, LENGTH) == LENGTH && !fsync(fd) &&
	       !renameat(dir, temp, dir, name);
	close(fd);
	if (!done)
		unlinkat(dir, temp, 0);
	return done && !fsync(dir);
}

bool ignore_keep(int dir)
{
	struct stat st;
	/* The present file is examined first: another process may put the right one there
	 * meanwhile. */
	bool other = !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW);

	if (is_right(dir))
		return false;
	/* A file of root's would be closed to the owner of the folder. */
	if (fstat(dir, &st) || st.st_uid != geteuid())
		return false;
	return ignore_write_file(dir) && other;
}
