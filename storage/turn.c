#include "storage/turn.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int turn_open(struct turn *t, int dir, struct fault *f)
{
	int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;

	t->bell = -1;
	t->lock = openat(dir, "state.lock", flags, 0600);
	if (t->lock >= 0)
		t->bell = openat(dir, "bell", flags, 0600);
	if (t->bell < 0)
		return fault_set(f, FAULT_UNAVAILABLE, "", "cannot open %s: %s",
				 t->lock < 0 ? "state.lock" : "bell", strerror(errno));
	return 0;
}

void turn_close(struct turn *t)
{
	if (t->lock >= 0)
		close(t->lock);
	if (t->bell >= 0)
		close(t->bell);
	*t = (struct turn){ -1, -1 };
}

/* EINTR is taken again: a signal is no reason to lose one's place. */
static int lock(const struct turn *t, int command, enum turn_byte byte, short type)
{
	struct flock l = {
		.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1
	};
	int rc;

	do
		rc = fcntl(t->lock, command, &l);
	while (rc < 0 && errno == EINTR);
	return rc;
}

int turn_lock(struct turn *t, enum turn_byte byte, bool exclusive, struct fault *f)
{
	if (t->lock < 0)
		return 0;
	if (lock(t, F_OFD_SETLKW, byte, exclusive ? F_WRLCK : F_RDLCK) < 0)
		return fault_set(f, FAULT_UNAVAILABLE, "", "cannot lock state.lock: %s",
				 strerror(errno));
	return 0;
}

void turn_unlock(struct turn *t, enum turn_byte byte)
{
	int rc = t->lock < 0 ? 0 : lock(t, F_OFD_SETLK, byte, F_UNLCK);

	assert(rc == 0);
	(void)rc;
}

/* Whether process `pid` has state.lock open otherwise than through `t`. */
static bool process_holds(const struct turn *t, const struct stat *want, long pid)
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
			(pid != getpid() || strtol(e->d_name, NULL, 10) != t->lock);
	if (d)
		closedir(d);
	return found;
}

/* A process by number and command line, such as `12 (cadre mcp)`, cut if long. */
static void name_process(long pid, char *out, size_t size)
{
	char path[64], words[40] = "";
	int fd, n;

	snprintf(path, sizeof(path), "/proc/%ld/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : (int)read(fd, words, sizeof(words) - 1);
	if (fd >= 0)
		close(fd);
	for (int i = 0; i < n - 1; i++)
		if ((unsigned char)words[i] < ' ' || words[i] == 127)
			words[i] = ' ';
	snprintf(out, size, "%ld (%s)", pid, words);
}

/* OFD locks have no owner that the kernel would name, but whoever has
 * state.lock open has the state open. */
static void name_holders(const struct turn *t, char *out, size_t size)
{
	struct stat want;
	struct dirent *e;
	size_t len = 0;
	DIR *d = fstat(t->lock, &want) == 0 ? opendir("/proc") : NULL;

	snprintf(out, size, "(not seen from here)");
	while (d && (e = readdir(d)) && len + 80 < size) {
		long pid = strtol(e->d_name, NULL, 10);
		char name[80];

		if (pid <= 0 || !process_holds(t, &want, pid))
			continue;
		name_process(pid, name, sizeof(name));
		len += (size_t)snprintf(out + len, size - len, "%s%s", len ? ", " : "",
					name);
	}
	if (d)
		closedir(d);
}

static int64_t monotonic_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int turn_alone_for(struct turn *t, long wait_ms, const char *why, struct fault *f)
{
	static const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };
	int64_t until = monotonic_ms() + wait_ms;
	char pids[240];

	if (t->lock < 0)
		return 0;
	while (lock(t, F_OFD_SETLK, TURN_VERSION, F_WRLCK) < 0) {
		if (errno != EAGAIN && errno != EACCES)
			return fault_set(f, FAULT_UNAVAILABLE, "",
					 "cannot lock state.lock: %s", strerror(errno));
		if (monotonic_ms() >= until) {
			name_holders(t, pids, sizeof(pids));
			fault_set(f, FAULT_UNAVAILABLE, "",
				  "%s, but processes have it open: %s", why, pids);
			return fault_hint(f, "stop them (a host: `cadre down`), then "
					     "repeat");
		}
		nanosleep(&pause, NULL);
	}
	return 0;
}

int turn_alone(struct turn *t, long wait_ms, struct fault *f)
{
	return turn_alone_for(t, wait_ms, "the state must be migrated", f);
}

bool turn_last(struct turn *t)
{
	return t->lock >= 0 && lock(t, F_OFD_SETLK, TURN_VERSION, F_WRLCK) == 0;
}

void turn_share(struct turn *t)
{
	int rc = lock(t, F_OFD_SETLK, TURN_VERSION, F_RDLCK);

	assert(rc == 0);
	(void)rc;
}

int turn_take(struct turn *t, struct fault *f)
{
	if (turn_lock(t, TURN_NEXT, true, f) < 0)
		return f->code;
	if (turn_lock(t, TURN_WRITE, true, f) < 0) {
		turn_unlock(t, TURN_NEXT);
		return f->code;
	}
	turn_unlock(t, TURN_NEXT);
	return 0;
}

void turn_give(struct turn *t)
{
	turn_unlock(t, TURN_WRITE);
}

void turn_ring(struct turn *t)
{
	/* Always the same byte, so the file never grows; a bell that cannot
	 * be rung costs a follower 250 ms, not an event. */
	if (t->bell >= 0 && pwrite(t->bell, "\n", 1, 0) < 0)
		return;
}
