#include "core/home/paths.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *paths_env(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

bool paths_join(char out[4096], const char *dir, const char *name)
{
	return snprintf(out, 4096, "%s%s%s", strcmp(dir, "/") ? dir : "",
			*name ? "/" : "", name) < 4096;
}

bool paths_up(char *dir)
{
	char *slash = strrchr(dir, '/');

	if (!slash || !slash[1])
		return false;
	slash[slash == dir ? 1 : 0] = '\0';
	return true;
}

bool paths_is_in(const char *path, const char *dir)
{
	size_t n = strcmp(dir, "/") ? strlen(dir) : 0;

	return !strncmp(path, dir, n) && (path[n] == '/' || !path[n]);
}

bool paths_home(char out[4096])
{
	const char *home = paths_env("HOME");
	struct passwd entry, *user = NULL;
	char texts[4096];

	if (home && home[0] == '/')
		return paths_join(out, home, "");
	return !getpwuid_r(geteuid(), &entry, texts, sizeof(texts), &user) && user &&
	       user->pw_dir[0] == '/' && paths_join(out, user->pw_dir, "");
}

bool paths_user_state(char out[4096])
{
	const char *base = paths_env("XDG_STATE_HOME");
	char home[4096];

	if (base && base[0] == '/')
		return paths_join(out, base, "cadre");
	return paths_home(home) && paths_join(out, home, ".local/state/cadre");
}

/* --- small files ------------------------------------------------------------------- */

ssize_t paths_read(int dir, const char *name, int flags, char *text, size_t room,
		   struct stat *st)
{
	/* A pipe or a terminal under this name must not block this process. */
	int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
	struct stat own = { 0 };
	ssize_t n = -1;

	st = st ? st : &own;
	if (fd >= 0 && !fstat(fd, st) && S_ISREG(st->st_mode))
		n = read(fd, text, room - 1);
	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return n;
}

bool paths_line(const char *path, char *line, size_t room)
{
	if (paths_read(AT_FDCWD, path, 0, line, room, NULL) <= 0)
		return false;
	line[strcspn(line, "\n")] = '\0';
	/* Drops carriage returns that a Windows editor writes, as git does. */
	for (size_t end = strlen(line); end && line[end - 1] == '\r';)
		line[--end] = '\0';
	return true;
}

/* Makes the folder's owner the owner of the file. Only a file that root made gets another
 * owner. */
static int paths_give(int dir, int fd)
{
	struct stat st;

	if (fstat(dir, &st))
		return -1;
	return st.st_uid == geteuid() ? 0 : fchown(fd, st.st_uid, st.st_gid);
}

int paths_write(int dir, const char *temp, const char *name, const char *bytes, size_t n)
{
	int fd, rc = -1;

	unlinkat(dir, temp, 0); /* removes a file that a killed process left */
	fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return -1;
	if (!paths_give(dir, fd) && !fchmod(fd, 0600) &&
	    write(fd, bytes, n) == (ssize_t)n && !fsync(fd))
		rc = renameat(dir, temp, dir, name);
	if (rc)
		unlinkat(dir, temp, 0);
	close(fd);
	return rc ? rc : fsync(dir);
}

DIR *paths_list(int dir)
{
	int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = again < 0 ? NULL : fdopendir(again);

	if (!list && again >= 0)
		close(again);
	return list;
}

mode_t paths_birth(int dir, const char *name, const char *untimed, char out[PATHS_BIRTH])
{
	struct statx st;

	out[0] = '\0';
	if (statx(dir, name, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW,
		  STATX_TYPE | STATX_INO | STATX_BTIME, &st))
		return 0;
	if (st.stx_mask & STATX_BTIME)
		snprintf(out, PATHS_BIRTH, "%llx %llx.%08x",
			 (unsigned long long)st.stx_ino,
			 (unsigned long long)st.stx_btime.tv_sec, st.stx_btime.tv_nsec);
	else if (untimed)
		snprintf(out, PATHS_BIRTH, "%llx%s", (unsigned long long)st.stx_ino,
			 untimed);
	return st.stx_mode;
}
