/* notes_lock - one writer of a path at a time. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/machine/notes_inside.h"

enum {
	WAIT_MS = 10000,
	PAUSE_FIRST_US = 200,
	PAUSE_MOST_US = 8000,
};

/* An offset that a file can have. */
uint64_t notes_lock_byte(const char *path)
{
	return hash_text(path) >> 2;
}

/* The locks belong to the descriptor: threads exclude each other too. */
static int try_byte(int fd, uint64_t byte)
{
	struct flock l = { .l_type = F_WRLCK,
			   .l_whence = SEEK_SET,
			   .l_start = (off_t)byte,
			   .l_len = 1 };
	int rc;

	do
		rc = fcntl(fd, F_OFD_SETLK, &l);
	while (rc < 0 && errno == EINTR);
	return rc;
}

/* Not F_OFD_SETLKW: a holder that was stopped would stop a host's threads.
 * Who waits long asks less often, so that a hundred do not eat the machine. */
static int wait_byte(int fd, uint64_t byte, int64_t end)
{
	int64_t pause = PAUSE_FIRST_US;

	while (try_byte(fd, byte) < 0) {
		if ((errno != EAGAIN && errno != EACCES) || clock_steady_ms() >= end)
			return -1;
		nanosleep(&(struct timespec){ .tv_nsec = pause * 1000 }, NULL);
		pause = pause * 2 < PAUSE_MOST_US ? pause * 2 : PAUSE_MOST_US;
	}
	return 0;
}

static int lock_bytes(const struct notes_disk *d, uint64_t a, uint64_t b, bool wait,
		      struct fault *f)
{
	int64_t end = wait ? clock_steady_ms() + WAIT_MS : 0;
	char path[4200];
	int fd;

	snprintf(path, sizeof(path), "%s/vault.lock", d->state);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return notes_fault(f, "open", "the lock");
	/* Always in this order, so that no two wait for each other. */
	if (wait_byte(fd, a < b ? a : b, end) == 0 &&
	    (a == b || wait_byte(fd, a < b ? b : a, end) == 0))
		return fd;
	close(fd);
	fault_set(f, FAULT_UNAVAILABLE, "/path", "somebody else is writing the note");
	f->retry_after_ms = 1000;
	return f->code;
}

int notes_lock(const void *self, const char *path, const char *other, bool wait,
	       struct fault *f)
{
	return lock_bytes(self, notes_lock_byte(path),
			  notes_lock_byte(other ? other : path), wait, f);
}

void notes_unlock(const void *self, int lock)
{
	(void)self;
	close(lock);
}

int notes_lock_staged(const void *self, const char *staged, struct fault *f)
{
	const char *name = strrchr(staged, '/');
	uint64_t byte = name ? strtoull(name + 1, NULL, 16) : 0;

	return lock_bytes(self, byte, byte, false, f);
}
