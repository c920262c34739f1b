#include "core/machine/file_place.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

int file_exchange(int from, const char *name, int dir, const char *file)
{
	for (int tries = 0; tries < 100; tries++) {
		if (renameat2(from, name, dir, file, RENAME_NOREPLACE) == 0)
			return 0;
		if (errno != EEXIST)
			return -1;
		if (renameat2(from, name, dir, file, RENAME_EXCHANGE) == 0)
			return 1;
		if (errno != ENOENT)
			return -1;
	}
	return -1;
}

int file_keep(int from, const char *name, int dir, const char *file)
{
	const char *dot = strrchr(file, '.');
	char kept[300], number[16] = "";

	if (!dot || dot == file)
		dot = file + strlen(file);
	for (int i = 2; i < 100000; i++) {
		snprintf(kept, sizeof(kept), "%.*s.conflict%s%s", (int)(dot - file), file,
			 number, dot);
		if (renameat2(from, name, dir, kept, RENAME_NOREPLACE) == 0)
			return 0;
		if (errno != EEXIST)
			return -1;
		snprintf(number, sizeof(number), "-%d", i);
	}
	return -1;
}

enum file_holder file_holder(int fd)
{
	enum file_holder who = FILE_READ;

	/* If another process opens the file now, the kernel sends a signal about the lease. The
	 * default signal, SIGIO, would kill this process. */
	if (fcntl(fd, F_SETSIG, SIGURG) < 0)
		return who;
	if (fcntl(fd, F_SETLEASE, F_WRLCK) == 0)
		who = FILE_FREE;
	else if (errno == EAGAIN && fcntl(fd, F_SETLEASE, F_RDLCK) < 0 && errno == EAGAIN)
		return FILE_WRITTEN;
	fcntl(fd, F_SETLEASE, F_UNLCK);
	return who;
}
