/* notes_lock - a lock that lets a single writer at a path at a time. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/machine/notes_inside.h"
#include "storage/byte_lock.h"
#include "storage/lock_holder.h"

enum { WAIT_MS = 10000 }; /* a holder that is stopped must not stop a host's threads */

/* An offset that a file can have, and an even one: the byte behind it is its queue. */
uint64_t notes_lock_byte(const char *path)
{
	return hash_text(path) >> 2 & ~UINT64_C(1);
}

/* Locks the byte, waiting until `end` (0: not at all).  Whoever waits for it holds the byte
 * behind it, at which all others queue, so that a writer who comes again at once overtakes
 * nobody. */
static int take_byte(int fd, uint64_t byte, int64_t end)
{
	const int64_t at = (int64_t)byte, queue = at | 1;
	int rc;

	if (!end)
		return byte_lock(fd, at, F_WRLCK);
	if (byte_lock_wait(fd, queue, F_WRLCK, end) < 0)
		return -1;
	rc = byte_lock_wait(fd, at, F_WRLCK, end);
	byte_lock(fd, queue, F_UNLCK);
	return rc;
}

/* The fault of a writer who did not get the lock.  It names the process that is in the way
 * if it `waited`: a search through /proc is too slow for one who only tries. */
static int held_fault(int fd, uint64_t a, uint64_t b, bool waited, struct fault *f)
{
	struct lock_holder who = { 0 };

	if (!waited || (!lock_holder_find(fd, (int64_t)a, &who) &&
			!lock_holder_find(fd, (int64_t)b, &who)))
		fault_set(f, FAULT_UNAVAILABLE, "/path",
			  "somebody else is writing the note");
	else
		fault_set(f, FAULT_UNAVAILABLE, "/path",
			  "process %.120s%s is writing the note: waited %d s", who.name,
			  who.stopped ? ", which is stopped," : "", WAIT_MS / 1000);
	if (who.stopped)
		fault_hint(f, "let it go on (kill -CONT, fg), or end it");
	f->retry_after_ms = 1000;
	return f->code;
}

static int lock_bytes(const struct notes_disk *d, uint64_t a, uint64_t b, bool wait,
		      struct fault *f)
{
	const int64_t end = wait ? clock_steady_ms() + WAIT_MS : 0;
	char path[4200];
	int fd;

	snprintf(path, sizeof(path), "%s/vault.lock", d->state);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return notes_fault(f, "open", "the lock");
	/* Always in this order, so that no two wait for each other. */
	if (take_byte(fd, a < b ? a : b, end) == 0 &&
	    (a == b || take_byte(fd, a < b ? b : a, end) == 0))
		return fd;
	if (errno != EAGAIN && errno != EACCES && errno != ETIMEDOUT) {
		notes_fault(f, "lock", "the note");
		close(fd);
		return f->code;
	}
	held_fault(fd, a, b, wait, f);
	close(fd);
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
	uint64_t byte = name ? strtoull(name + 1, NULL, 16) & ~UINT64_C(1)
			     : 0; /* a former version has named odd ones */

	return lock_bytes(self, byte, byte, false, f);
}
