#include "core/host/writer.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <uv.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/host/batch.h"
#include "core/host/metrics/metrics.h"
#include "storage/store.h"

enum { CHECKPOINT_FRAMES = 2000 };

/* --- checkpoint -------------------------------------------------------------- */

/*
 * Keeps the WAL short without holding up the writer.
 *
 * A thread with its own connection copies frames (by a PASSIVE checkpoint) when the writer
 * reports many frames. After the copy only few frames are left to copy. Then the writer runs a
 * short PASSIVE checkpoint between two batches. The writer then waits a few milliseconds for
 * reads that began earlier, and the WAL starts anew. If a write has found the disk full, even a
 * short WAL is copied. On a full disk, new frames can be written only over frames that have
 * been copied.
 */

enum phase { IDLE, ASKED, COPIED };

struct checkpoint {
	struct store *store;
	uv_thread_t thread;
	uv_sem_t asked;
	atomic_int phase;
	atomic_bool ending;
	int64_t due; /* number of uncopied frames at which the next copy begins */
	int patience_ms; /* longest wait for reads that use the WAL */
};

enum { PATIENCE_MS = 10, PATIENCE_MOST = 160, AGAIN_FRAMES = 500, TRIM_MS = 30000 };

/* Gives the system back the free memory that lies between used blocks. Without this, the
 * process would grow for hours, because answers of some MB are allocated and freed again and
 * again. */
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

static int checkpoint_open(struct checkpoint **out, const char *dir, unsigned flags,
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

/* `c` may be NULL. */
static void checkpoint_close(struct checkpoint *c)
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

/* Lets the WAL start anew. A read that began before the copy prevents the new start. Reads are
 * short, but if there are many reads, at least one always runs. So the writer waits for the
 * reads that run now. After each failed try the next wait is twice as long, up to
 * PATIENCE_MOST. */
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

/* Takes the next step of a checkpoint, between two batches of the writer. */
static void checkpoint_step(struct checkpoint *c, struct store *writer)
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

struct writer {
	struct store *store;
	struct checkpoint *checkpoint;
	struct metrics *metrics;
	int64_t syncs, sync_ns; /* WAL syncs counted so far: number and time */
	struct queue queue;
	struct chain batch, ended; /* jobs that run; jobs that are done */
	uv_thread_t thread;
	batch_done *done;
	void *arg;
};

/* Gathers calls to run. A call whose caller has gone is not run. */
static size_t writer_gather(struct writer *w, struct chain *taken, struct call **calls)
{
	size_t n = 0;

	while (taken->first) {
		struct job *job = chain_pop(taken);

		if (atomic_load_explicit(&job->gone, memory_order_relaxed)) {
			chain_add(&w->ended, job);
			continue;
		}
		calls[n++] = &job->call;
		chain_add(&w->batch, job);
	}
	return n;
}

static size_t gather_more(void *arg, struct call **calls, size_t room)
{
	struct writer *w = arg;
	struct chain taken = { 0 };

	return queue_take_more(&w->queue, &taken, room) ? writer_gather(w, &taken, calls)
							: 0;
}

/* Counts a transaction of `calls` calls in the metrics. When the WAL is opened anew, its number
 * of syncs begins at 0 again. */
static void count_batch(struct writer *w, size_t calls)
{
	int64_t ns, syncs = store_wal_syncs(w->store, &ns);

	if (syncs < w->syncs)
		w->syncs = w->sync_ns = 0;
	metrics_batch(w->metrics, calls, syncs - w->syncs, ns - w->sync_ns);
	w->syncs = syncs;
	w->sync_ns = ns;
}

/*~ The writer's thread runs all writes, one after the other.  Station 6 of 12.
 *
 * SQLite allows one writer at a time. A COMMIT that has to survive a power failure waits for
 * the disk, between 0.2 ms and 10 ms. With one COMMIT for each call, 64 agents would wait for
 * 64 COMMITs. Therefore this thread takes all writes that were queued during the last COMMIT,
 * runs these writes in one transaction, and commits once (core/host/batch.c). No answer is sent
 * before the COMMIT, so acknowledged writes are never lost. The busier the host is, the larger
 * the batches are, and the less each call costs.
 *
 * A call that fails must not affect the other calls. Most calls that fail have not changed the
 * database, so there is nothing to undo. If a failed call has changed the database, the whole
 * batch is rolled back and run again with savepoints.
 *
 * Two agents may claim the same task in one batch. The calls of a batch run in order, so the
 * second claim finds that the task is taken, and fails.
 *
 * Next: storage/store.c
 */
static void run_batch(struct writer *w, struct chain *taken)
{
	const struct batch_source source = { gather_more, w };
	struct call *calls[BATCH_CALLS];

	writer_gather(w, taken, calls);
	for (size_t at = 0; w->batch.first;) {
		size_t ran =
			batch_run(w->store, calls + at, w->batch.n, at ? NULL : &source);

		count_batch(w, ran);
		for (size_t i = 0; i < ran; i++) {
			w->batch.first->lost = store_was_lost(w->store);
			chain_add(&w->ended, chain_pop(&w->batch));
		}
		at += ran;
		w->done(w->arg, &w->ended);
		checkpoint_step(w->checkpoint, w->store);
	}
	if (w->ended.first)
		w->done(w->arg, &w->ended);
}

static void write_batches(void *arg)
{
	struct writer *w = arg;
	struct chain taken = { 0 };

	pthread_setname_np(pthread_self(), "cadre-store");
	while (queue_take(&w->queue, &taken, BATCH_CALLS))
		run_batch(w, &taken);
}

int writer_open(struct writer **out, const struct writer_options *options,
		batch_done *done, void *arg, struct fault *f)
{
	const uv_thread_options_t small = {
		.flags = UV_THREAD_HAS_STACK_SIZE,
		.stack_size = 1 << 20,
	};
	struct writer *w = xcalloc(1, sizeof(*w));
	int rc;

	w->done = done;
	w->arg = arg;
	w->metrics = options->metrics;
	queue_init(&w->queue);
	rc = store_open(&w->store, options->dir,
			options->flags | STORE_NO_CHECKPOINT | STORE_LARGE_CACHE, NULL,
			f);
	if (rc == 0)
		rc = checkpoint_open(&w->checkpoint, options->dir, options->flags, f);
	if (rc == 0 && uv_thread_create_ex(&w->thread, &small, write_batches, w))
		rc = fault_set(f, FAULT_UNAVAILABLE, "", "no thread");
	if (rc) {
		checkpoint_close(w->checkpoint);
		store_close(w->store);
		queue_release(&w->queue);
		free(w);
		return rc;
	}
	*out = w;
	return 0;
}

void writer_close(struct writer *w)
{
	if (!w)
		return;
	queue_close(&w->queue);
	uv_thread_join(&w->thread);
	checkpoint_close(w->checkpoint);
	store_close(w->store);
	queue_release(&w->queue);
	free(w);
}

void writer_push(struct writer *w, struct chain *jobs)
{
	queue_push(&w->queue, jobs);
}

void writer_push_part(struct writer *w, struct chain *jobs)
{
	queue_push_part(&w->queue, jobs);
}
