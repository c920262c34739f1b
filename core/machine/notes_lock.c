/* notes_lock - locks of paths, so that only one writer at a time changes a note. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/machine/notes_inside.h"
#include "storage/byte_lock.h"
#include "storage/lock_holder.h"

enum { WAIT_MS = 10000 }; /* a suspended holder must not block a thread for ever */

/* The byte of a path, as an even file offset. While a caller waits for this byte, the caller
 * locks the next byte. */
uint64_t notes_lock_byte(const char *path)
{
	return hash_text(path) >> 2 & ~UINT64_C(1);
}

/* A byte to lock. A lock of type F_WRLCK has one holder; a lock of type F_RDLCK may have
 * several holders. */
struct want {
	uint64_t byte;
	short type;
};

/* A call locks at most two folders and two notes. */
enum { WANTS = 4 };

/* Locks the byte. Waits for the lock until the time `end`, or does not wait if `end` is 0. The
 * first waiter locks the byte after w->byte, and all other waiters wait for that second byte.
 * So a writer that unlocks and locks again does not overtake a waiter. */
static int take_byte(int fd, const struct want *w, int64_t end)
{
	const int64_t at = (int64_t)w->byte, queue = at | 1;
	int rc;

	if (!end)
		return byte_lock(fd, at, w->type);
	if (byte_lock_wait(fd, queue, F_WRLCK, end) < 0)
		return -1;
	rc = byte_lock_wait(fd, at, w->type, end);
	byte_lock(fd, queue, F_UNLCK);
	return rc;
}

static int notes_lock_take_bytes(int fd, const struct want *wants, int n, int64_t end)
{
	for (int i = 0; i < n; i++)
		if (take_byte(fd, &wants[i], end) < 0)
			return -1;
	return 0;
}

/* Adds the bytes `a` and `b` to the list `wants`, the lower byte first; 0 means no byte. All
 * callers lock folders before notes, and the lower byte of two folders or two notes first. So
 * two callers never wait for each other. */
static int add_wants(struct want *wants, int n, uint64_t a, uint64_t b, short type)
{
	const uint64_t first = a < b ? a : b, second = a < b ? b : a;

	if (first)
		wants[n++] = (struct want){ first, type };
	if (second && second != first)
		wants[n++] = (struct want){ second, type };
	return n;
}

/* The byte of a team's folder; 0 if the folder is never moved, and so needs no lock. */
static uint64_t team_byte(const char *team, size_t len)
{
	char path[NAME_MAX + 8];

	if (!len || *team == '.')
		return 0;
	snprintf(path, sizeof(path), "teams/%.*s", (int)len, team);
	return notes_lock_byte(path);
}

static uint64_t folder_byte(const char *path)
{
	size_t n;

	if (!path || strncmp(path, "teams/", 6) != 0)
		return 0;
	n = strcspn(path + 6, "/");
	return path[6 + n] ? team_byte(path + 6, n) : 0;
}

/* Fills the fault for a caller that did not get the locks. If the caller has `waited`, the
 * fault names a process that holds a lock, if such a process is found. Otherwise the fault
 * names no process, since the search through /proc is slow. */
static int held_fault(int fd, const struct want *wants, int n, bool waited,
		      struct fault *f)
{
	struct lock_holder who = { 0 };
	bool found = false;

	for (int i = 0; waited && !found && i < n; i++)
		found = lock_holder_find(fd, (int64_t)wants[i].byte, &who);
	if (!found)
		fault_set(f, FAULT_UNAVAILABLE, "/path",
			  "another process is writing the note");
	else
		fault_set(f, FAULT_UNAVAILABLE, "/path",
			  "process %.120s%s is writing the note: waited %d s", who.name,
			  who.stopped ? ", which is stopped," : "", WAIT_MS / 1000);
	if (who.stopped)
		fault_hint(f, "let the process go on (kill -CONT, fg), or end it");
	f->retry_after_ms = 1000;
	return f->code;
}

/* Opens the file vault.lock. If `make` is set, makes the file if it is missing. A reader does
 * not set `make`, since root may read another user's state and must not make files there. */
static int open_lock(const struct notes_disk *d, bool make)
{
	const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
	char path[4200];

	snprintf(path, sizeof(path), "%s/vault.lock", d->state);
	return open(path, make ? flags | O_CREAT : flags, 0600);
}

/* Locks bytes of `fd` and returns `fd`. On failure closes `fd` and returns a fault. */
static int lock_bytes(int fd, const struct want *wants, int n, bool wait, struct fault *f)
{
	const int64_t end = wait ? clock_steady_ms() + WAIT_MS : 0;

	if (fd < 0)
		return notes_fault(f, "open", "the lock");
	if (notes_lock_take_bytes(fd, wants, n, end) == 0)
		return fd;
	if (errno != EAGAIN && errno != EACCES && errno != ETIMEDOUT) {
		notes_fault(f, "lock", "the note");
		close(fd);
		return f->code;
	}
	held_fault(fd, wants, n, wait, f);
	close(fd);
	return f->code;
}

int notes_lock(const void *self, const char *path, const char *other, bool wait,
	       struct fault *f)
{
	struct want wants[WANTS];
	int n = add_wants(wants, 0, folder_byte(path), folder_byte(other), F_RDLCK);

	n = add_wants(wants, n, notes_lock_byte(path),
		      notes_lock_byte(other ? other : path), F_WRLCK);
	return lock_bytes(open_lock(self, true), wants, n, wait, f);
}

int notes_lock_teams(const void *self, const char *team, const char *other, bool alone,
		     struct fault *f)
{
	const struct notes_disk *d = self;
	struct want wants[WANTS];
	int n = add_wants(wants, 0, team ? team_byte(team, strlen(team)) : 0,
			  other ? team_byte(other, strlen(other)) : 0,
			  alone ? F_WRLCK : F_RDLCK);
	int fd = open_lock(d, alone);

	if (fd >= 0 || errno != ENOENT || alone)
		return lock_bytes(fd, wants, n, true, f);
	/* The file vault.lock does not exist, so cadre has never written a note or moved a
	 * folder. A reader therefore needs no lock. */
	return lock_bytes(open(d->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC), NULL, 0,
			  false, f);
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
			     : 0; /* a file name from a former version may contain an odd
				     byte */

	return lock_bytes(open_lock(self, true), &(struct want){ byte, F_WRLCK }, 1,
			  false, f);
}
