#include "storage/lock_holder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/byte_lock.h"

/* Whether an open file of a process locks the byte, exclusively if need be: its fdinfo lists the locks, and the
 * kernel names no owner of OFD locks otherwise. */
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

/* Whether process `pid` has the file `want` open otherwise than as our `fd`, and holds
 * that byte of it. */
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

/* Shows no byte that could change what a terminal does. */
static void make_plain(char *text, int n)
{
	for (int i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 127)
			text[i] = ' ';
}

/* Writes a process's command line, without the program's folder, which would take the
 * room. */
static void lock_holder_write_command(long pid, char *out, size_t size)
{
	char path[64], words[4096] = "", *slash;
	int fd, n;

	snprintf(path, sizeof(path), "/proc/%ld/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : (int)read(fd, words, sizeof(words) - 1);
	if (fd >= 0)
		close(fd);
	slash = strrchr(words, '/');
	make_plain(words, n - 1);
	snprintf(out, size, "%.39s", slash ? slash + 1 : words);
}

void lock_holder_name(long pid, char *out, size_t size)
{
	char command[40];

	lock_holder_write_command(pid, command, sizeof(command));
	snprintf(out, size, "%ld (%s)", pid, command);
}

/* Writes ` of NAME` for the agent that a process works for, as far as it was told by its
 * environment. */
static void write_agent(long pid, char *out, size_t size)
{
	static const char name[] = "CADRE_AGENT=";
	char path[64], *word = NULL;
	size_t room = 0;
	FILE *words;

	*out = '\0';
	snprintf(path, sizeof(path), "/proc/%ld/environ", pid);
	words = fopen(path, "re");
	while (words && !*out && getdelim(&word, &room, '\0', words) > 0)
		if (strncmp(word, name, strlen(name)) == 0 && word[strlen(name)])
			snprintf(out, size, " of %.40s", word + strlen(name));
	make_plain(out, (int)strlen(out));
	free(word);
	if (words)
		fclose(words);
}

void lock_holder_all(int fd, int64_t byte, char *out, size_t size)
{
	struct stat want;
	struct dirent *e;
	size_t len = 0;
	DIR *d = fstat(fd, &want) == 0 ? opendir("/proc") : NULL;

	snprintf(out, size, "(not seen from here)");
	while (d && (e = readdir(d)) && len + 120 < size) {
		long pid = strtol(e->d_name, NULL, 10);
		char command[40], agent[48];

		if (pid <= 0 || !process_holds(fd, &want, pid, byte, false))
			continue;
		lock_holder_write_command(pid, command, sizeof(command));
		write_agent(pid, agent, sizeof(agent));
		len += (size_t)snprintf(out + len, size - len, "%s%s%s, process %ld",
					len ? "; " : "", command, agent, pid);
	}
	if (d)
		closedir(d);
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
	struct stat want;
	struct dirent *e;
	long pid = 0;
	DIR *d;

	*out = (struct lock_holder){ .name = "(not seen from here)" };
	if (fd < 0 || !byte_is_locked(fd, byte))
		return false;
	d = fstat(fd, &want) == 0 ? opendir("/proc") : NULL;
	while (d && !pid && (e = readdir(d))) {
		pid = strtol(e->d_name, NULL, 10);
		if (pid > 0 && !process_holds(fd, &want, pid, byte, true))
			pid = 0;
	}
	if (d)
		closedir(d);
	if (pid > 0) {
		lock_holder_name(pid, out->name, sizeof(out->name));
		out->stopped = is_stopped(pid);
	}
	return pid > 0;
}
