#include "core/host/state_id.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE = 100 };

/* The folder as its id's file names it; "" where it has no time of birth. */
static void name_folder(int dir, char out[LINE])
{
	struct statx st;

	out[0] = '\0';
	if (!statx(dir, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &st) &&
	    st.stx_mask & STATX_BTIME)
		snprintf(out, LINE, "%llx %llx.%08x", (unsigned long long)st.stx_ino,
			 (unsigned long long)st.stx_btime.tv_sec, st.stx_btime.tv_nsec);
}

static void read_line(int dir, char line[LINE])
{
	int fd = openat(dir, "id", O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, line, LINE - 1);

	if (fd >= 0)
		close(fd);
	line[n < 0 ? 0 : n] = '\0';
	line[strcspn(line, "\n")] = '\0';
}

bool state_id_read(int dir, char id[STATE_ID + 1])
{
	char line[LINE];

	read_line(dir, line);
	snprintf(id, STATE_ID + 1, "%.*s", STATE_ID, line);
	return strlen(id) == STATE_ID;
}

bool state_id_is_ours(int dir)
{
	char line[LINE], folder[LINE];

	read_line(dir, line);
	name_folder(dir, folder);
	return strspn(line, "0123456789abcdef") == STATE_ID && line[STATE_ID] == ' ' &&
	       folder[0] && !strcmp(line + STATE_ID + 1, folder);
}

/* The file is for whoever's folder it is, also where root has made it. */
static int give(int dir, int fd)
{
	struct stat st;

	if (fstat(dir, &st))
		return -1;
	return st.st_uid == geteuid() ? 0 : fchown(fd, st.st_uid, st.st_gid);
}

static int write_id(int dir, const char *id, const char *folder, struct fault *f)
{
	int fd, rc = 0;

	unlinkat(dir, "id.new", 0);
	fd = openat(dir, "id.new", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0 || dprintf(fd, "%s%s%s\n", id, folder[0] ? " " : "", folder) < 0 ||
	    give(dir, fd) || fsync(fd) || renameat(dir, "id.new", dir, "id") ||
	    fsync(dir))
		rc = fault_set(f, FAULT_IO, "", "cannot write the state's id: %m");
	if (fd >= 0)
		close(fd);
	return rc;
}

int state_id_adopt(int dir, const char id[STATE_ID + 1], struct fault *f)
{
	char line[LINE], folder[LINE];

	read_line(dir, line);
	name_folder(dir, folder);
	if (!folder[0] || strcmp(line, id) != 0)
		return 0;
	return write_id(dir, id, folder, f);
}

int state_id_make(int dir, struct fault *f)
{
	uint8_t bytes[STATE_ID / 2];
	char id[STATE_ID + 1], folder[LINE];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return fault_set(f, FAULT_IO, "", "no randomness: %m");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(id + 2 * i, 3, "%02x", bytes[i]);
	name_folder(dir, folder);
	return write_id(dir, id, folder, f);
}
