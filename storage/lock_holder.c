#include "storage/lock_holder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/byte_lock.h"

/* Whether an open file of a process locks the byte.  With `exclusively`, only an exclusive lock
 * counts. The fdinfo of the open file lists the file's locks. The kernel names the owner of an
 * OFD lock only in fdinfo. */
static bool fd_locks(long pid, const char *fd, int64_t byte, bool exclusively)
{
	char path[80], line[200], mode[8];
	long long from, to;
	bool found = false;
	FILE *info;

	snprintf(path, sizeof(path), "/proc/%ld/fdinfo/%.20s", pid, fd);
	info = fopen(path, "re");
	while (info && !found && fgets(line, sizeof(line), info))
		found = sscanf(line, "lock: %*d: OFDLCK %*s %7s %*d %*s %lld %lld", mode,
			       &from, &to) == 3 &&
			(!exclusively || strcmp(mode, "WRITE") == 0) && from <= byte &&
			byte <= to;
	if (info)
		fclose(info);
	return found;
}

/* Whether process `pid` locks the byte of the file `want` through a descriptor other than our
 * `fd`. */
static bool process_holds(int fd, const struct stat *want, long pid, int64_t byte,
			  bool exclusively)
{
	char path[64];
	struct dirent *e;
	struct stat st;
	bool found = false;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%ld/fd", pid);
	d = opendir(path);
	while (d && !found && (e = readdir(d)))
		found = fstatat(dirfd(d), e->d_name, &st, 0) == 0 &&
			st.st_ino == want->st_ino && st.st_dev == want->st_dev &&
			(pid != getpid() || strtol(e->d_name, NULL, 10) != fd) &&
			fd_locks(pid, e->d_name, byte, exclusively);
	if (d)
		closedir(d);
	return found;
}

/* Writes the number and the command line of a process. The program's folder is left out, since
 * a long folder would leave no room for the arguments. A byte that could control a terminal is
 * replaced by a space. */
void lock_holder_name(long pid, char *out, size_t size)
{
	char path[64], words[4096] = "", *slash;
	int fd, n;

	snprintf(path, sizeof(path), "/proc/%ld/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : (int)read(fd, words, sizeof(words) - 1);
	if (fd >= 0)
		close(fd);
	slash = strrchr(words, '/');
	for (int i = 0; i < n - 1; i++)
		if ((unsigned char)words[i] < ' ' || words[i] == 127)
			words[i] = ' ';
	snprintf(out, size, "%ld (%.39s)", pid, slash ? slash + 1 : words);
}

/* The number of the next process in an open /proc that locks the byte through a descriptor
 * other than `fd`. 0: no further process locks the byte. */
static long lock_holder_next(DIR *proc, int fd, int64_t byte, bool exclusively)
{
	struct stat want;
	struct dirent *e;

	if (!proc || fstat(fd, &want))
		return 0;
	while ((e = readdir(proc))) {
		long pid = strtol(e->d_name, NULL, 10);

		if (pid > 0 && process_holds(fd, &want, pid, byte, exclusively))
			return pid;
	}
	return 0;
}

void lock_holder_all(int fd, int64_t byte, char *out, size_t size)
{
	DIR *proc = opendir("/proc");
	char name[80];
	size_t len = 0;
	long pid;

	snprintf(out, size, "(not seen from here)");
	while (len + sizeof(name) < size &&
	       (pid = lock_holder_next(proc, fd, byte, false))) {
		lock_holder_name(pid, name, sizeof(name));
		len += (size_t)snprintf(out + len, size - len, "%s%s", len ? "; " : "",
					name);
	}
	if (proc)
		closedir(proc);
}

static bool is_stopped(long pid)
{
	char path[64], text[300] = "", *s;
	int fd;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	s = strrchr(text, ')');
	return s && (strncmp(s, ") T", 3) == 0 || strncmp(s, ") t", 3) == 0);
}

bool lock_holder_find(int fd, int64_t byte, struct lock_holder *out)
{
	DIR *proc;
	long pid;

	*out = (struct lock_holder){ .name = "(not seen from here)" };
	if (fd < 0 || !byte_is_locked(fd, byte))
		return false;
	proc = opendir("/proc");
	if ((pid = lock_holder_next(proc, fd, byte, true)) > 0) {
		lock_holder_name(pid, out->name, sizeof(out->name));
		out->stopped = is_stopped(pid);
	}
	if (proc)
		closedir(proc);
	return pid > 0;
}
