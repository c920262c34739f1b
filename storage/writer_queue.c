#include "storage/writer_queue.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "storage/byte_lock.h"

/* A client waits ten seconds for a host. If a process holds the turn and does nothing, all
 * calls that wait for the turn must be answered within twenty seconds. */
enum { WRITE_MS = 8000, AGAIN_MS = 500, OPEN_MS = 20000, FORGET_MS = 5000 };

int writer_queue_open(struct writer_queue *t, int dir, struct fault *f)
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

void writer_queue_close(struct writer_queue *t)
{
	if (t->lock >= 0)
		close(t->lock);
	if (t->bell >= 0)
		close(t->bell);
	*t = (struct writer_queue){ .lock = -1, .bell = -1 };
}

static int writer_queue_set_lock(const struct writer_queue *t,
				 enum writer_queue_byte byte, short type)
{
	return byte_lock(t->lock, byte, type);
}

/* --- waiting --------------------------------------------------------------------- */

/* Whether a wait for the turn failed within the last FORGET_MS. */
static bool is_recent(const struct writer_queue *t)
{
	return *t->held_by.name && clock_steady_ms() - t->held_at < FORGET_MS;
}

/* Records that a wait for the process `who` began at `since`. Returns the time at which the
 * first of the recent waits for `who` began. */
static int64_t remember_holder(struct writer_queue *t, const struct lock_holder *who,
			       int64_t since)
{
	if (!is_recent(t) || strcmp(who->name, t->held_by.name) != 0)
		t->held_since = since;
	t->held_by = *who;
	t->held_at = clock_steady_ms();
	return t->held_since;
}

/* Fills the fault of a wait that began at `since` and has lasted too long. */
static int held_too_long(struct writer_queue *t, enum writer_queue_byte byte,
			 int64_t since, struct fault *f)
{
	bool writes = byte == WRITER_QUEUE_NEXT || byte == WRITER_QUEUE_WRITE;
	struct lock_holder who;

	if (!lock_holder_find(t->lock, writes ? WRITER_QUEUE_WRITE : byte, &who))
		lock_holder_find(t->lock, byte, &who);
	if (writes)
		since = remember_holder(t, &who, since);
	fault_set(f, FAULT_UNAVAILABLE, "",
		  "process %.120s%s keeps the state from being %s: waited %d s", who.name,
		  who.stopped ? ", which is stopped," : "", writes ? "written" : "opened",
		  (int)((clock_steady_ms() - since) / 1000));
	return fault_hint(
		f, who.stopped ? "let the process go on (kill -CONT, fg), or end it: "
				 "acknowledged calls are kept"
			       : "see what the process does, or end it: acknowledged "
				 "calls are kept");
}

/* Whether a wait for the turn failed recently, and the process that held the turn then still
 * holds it. */
static bool is_held_still(const struct writer_queue *t)
{
	struct lock_holder who;

	return is_recent(t) && lock_holder_find(t->lock, WRITER_QUEUE_WRITE, &who) &&
	       strcmp(who.name, t->held_by.name) == 0;
}

static int lock_until(struct writer_queue *t, enum writer_queue_byte byte, short type,
		      int64_t since, int64_t until, struct fault *f)
{
	if (t->lock < 0 || byte_lock_wait(t->lock, byte, type, until) == 0)
		return 0;
	if (errno == ETIMEDOUT)
		return held_too_long(t, byte, since, f);
	return fault_set(f, FAULT_UNAVAILABLE, "", "cannot lock state.lock: %s",
			 strerror(errno));
}

int writer_queue_lock(struct writer_queue *t, enum writer_queue_byte byte, bool exclusive,
		      struct fault *f)
{
	int64_t now = clock_steady_ms();

	return lock_until(t, byte, exclusive ? F_WRLCK : F_RDLCK, now, now + OPEN_MS, f);
}

void writer_queue_unlock(struct writer_queue *t, enum writer_queue_byte byte)
{
	int rc = t->lock < 0 ? 0 : writer_queue_set_lock(t, byte, F_UNLCK);

	assert(rc == 0);
	(void)rc;
}

int writer_queue_alone_for(struct writer_queue *t, long wait_ms, const char *why,
			   struct fault *f)
{
	static const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };
	int64_t until = clock_steady_ms() + wait_ms;
	char names[360];

	if (t->lock < 0)
		return 0;
	while (writer_queue_set_lock(t, WRITER_QUEUE_VERSION, F_WRLCK) < 0) {
		if (errno != EAGAIN && errno != EACCES)
			return fault_set(f, FAULT_UNAVAILABLE, "",
					 "cannot lock state.lock: %s", strerror(errno));
		if (clock_steady_ms() >= until) {
			lock_holder_all(t->lock, WRITER_QUEUE_VERSION, names,
					sizeof(names));
			fault_set(f, FAULT_UNAVAILABLE, "",
				  "%s, but state.db is open in: %s", why, names);
			return fault_hint(
				f,
				"end these processes, then repeat (`cadre down` ends a "
				"host; a `cadre mcp` ends with its client)");
		}
		nanosleep(&pause, NULL);
	}
	return 0;
}

int writer_queue_alone(struct writer_queue *t, long wait_ms, struct fault *f)
{
	bool asks = t->lock >= 0 &&
		    writer_queue_set_lock(t, WRITER_QUEUE_WANTED, F_WRLCK) == 0;

	writer_queue_alone_for(t, wait_ms, "the state must be migrated", f);
	if (asks)
		writer_queue_unlock(t, WRITER_QUEUE_WANTED);
	return f->code;
}

bool writer_queue_is_wanted(const struct writer_queue *t)
{
	return t->lock >= 0 && byte_is_locked(t->lock, WRITER_QUEUE_WANTED);
}

bool writer_queue_last(struct writer_queue *t)
{
	return t->lock >= 0 &&
	       writer_queue_set_lock(t, WRITER_QUEUE_VERSION, F_WRLCK) == 0;
}

void writer_queue_share(struct writer_queue *t)
{
	int rc = writer_queue_set_lock(t, WRITER_QUEUE_VERSION, F_RDLCK);

	assert(rc == 0);
	(void)rc;
}

int writer_queue_take(struct writer_queue *t, struct fault *f)
{
	int64_t now = clock_steady_ms();
	int64_t until = now + (is_held_still(t) ? AGAIN_MS : WRITE_MS);

	if (lock_until(t, WRITER_QUEUE_NEXT, F_WRLCK, now, until, f) < 0)
		return f->code;
	if (lock_until(t, WRITER_QUEUE_WRITE, F_WRLCK, now, until, f) == 0)
		*t->held_by.name = '\0';
	if (t->lock >= 0)
		writer_queue_unlock(t, WRITER_QUEUE_NEXT);
	return f->code;
}

void writer_queue_give(struct writer_queue *t)
{
	writer_queue_unlock(t, WRITER_QUEUE_WRITE);
}

void writer_queue_ring(struct writer_queue *t)
{
	/* Each call writes the same byte to the same place, so the file never grows. If the
	 * write fails, a follower of events is at most 250 ms late, and misses no event. */
	if (t->bell >= 0 && pwrite(t->bell, "\n", 1, 0) < 0)
		return;
}
