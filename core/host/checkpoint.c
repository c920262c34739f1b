#include "core/host/checkpoint.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <uv.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"

enum phase { IDLE, ASKED, COPIED };

struct checkpoint {
	struct store *store;
	uv_thread_t thread;
	uv_sem_t asked;
	atomic_int phase;
	atomic_bool ending;
	int64_t due; /* frames since the last copy that are worth the next one */
	int patience_ms; /* with reads that hold the WAL */
};

enum { PATIENCE_MS = 10, PATIENCE_MOST = 160, AGAIN_FRAMES = 500, TRIM_MS = 30000 };

/* Gives back what the allocator holds for nothing between blocks that are in use: answers of
 * some MB, which come and go, would else let the process grow for hours. */
static void trim_memory(int64_t *trimmed_at)
{
	const int64_t now = clock_steady_ms();

	if (now < *trimmed_at + TRIM_MS)
		return;
	*trimmed_at = now;
	malloc_trim(0);
}

static void copy_frames(void *arg)
{
	struct checkpoint *c = arg;
	int64_t trimmed_at = clock_steady_ms();

	pthread_setname_np(pthread_self(), "cadre-ckpt");
	for (;;) {
		struct fault f = { 0 };

		uv_sem_wait(&c->asked);
		if (atomic_load(&c->ending))
			return;
		store_checkpoint(c->store, &f);
		atomic_store(&c->phase, COPIED);
		trim_memory(&trimmed_at);
	}
}

int checkpoint_open(struct checkpoint **out, const char *dir, unsigned flags,
		    struct fault *f)
{
	const uv_thread_options_t small = {
		.flags = UV_THREAD_HAS_STACK_SIZE,
		.stack_size = 256 << 10,
	};
	struct checkpoint *c = xcalloc(1, sizeof(*c));
	int rc;

	rc = store_open(&c->store, dir, flags | STORE_NO_CHECKPOINT, NULL, f);
	if (rc) {
		free(c);
		return rc;
	}
	c->due = CHECKPOINT_FRAMES;
	c->patience_ms = PATIENCE_MS;
	uv_sem_init(&c->asked, 0);
	if (uv_thread_create_ex(&c->thread, &small, copy_frames, c)) {
		uv_sem_destroy(&c->asked);
		store_close(c->store);
		free(c);
		return fault_set(f, FAULT_UNAVAILABLE, "", "no thread");
	}
	*out = c;
	return 0;
}

void checkpoint_close(struct checkpoint *c)
{
	if (!c)
		return;
	atomic_store(&c->ending, true);
	uv_sem_post(&c->asked);
	uv_thread_join(&c->thread);
	uv_sem_destroy(&c->asked);
	store_close(c->store);
	free(c);
}

/* A read that began before the copy keeps the WAL from starting anew.  Reads are
 * short, but with many of them some read always runs: the writer waits for those that
 * run now, a little longer each time that this was in vain. */
static void checkpoint_start_anew(struct checkpoint *c, struct store *writer)
{
	struct fault f = { 0 };

	c->due = CHECKPOINT_FRAMES;
	if (store_wal_length(writer) < CHECKPOINT_FRAMES ||
	    store_restart_wal(writer, c->patience_ms, &f)) {
		c->patience_ms = PATIENCE_MS;
		return;
	}
	c->due = AGAIN_FRAMES;
	if (c->patience_ms < PATIENCE_MOST)
		c->patience_ms *= 2;
}

void checkpoint_step(struct checkpoint *c, struct store *writer)
{
	bool full = store_found_full(writer);
	struct fault f = { 0 };

	switch ((enum phase)atomic_load(&c->phase)) {
	case IDLE:
		if (!full && store_wal_frames(writer) < c->due)
			break;
		atomic_store(&c->phase, ASKED);
		uv_sem_post(&c->asked);
		break;
	case ASKED:
		break;
	case COPIED:
		if (store_checkpoint(writer, &f) >= 0)
			checkpoint_start_anew(c, writer);
		atomic_store(&c->phase, IDLE);
		break;
	}
}
