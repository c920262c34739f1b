#include "core/host/writer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/home/home.h"
#include "core/host/batch.h"
#include "core/host/checkpoint.h"
#include "core/host/metrics/metrics.h"

struct writer {
	struct store *store;
	struct checkpoint *checkpoint;
	struct metrics *metrics;
	int64_t syncs, sync_ns; /* of the WAL, as counted */
	struct queue queue;
	struct chain batch, ended; /* jobs that run; jobs that are answered */
	uv_thread_t thread;
	batch_done *done;
	void *arg;
};

/* A call whose caller has gone is not run. */
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

/* Counts a transaction of so many calls.  A WAL that was opened anew has counted nothing yet. */
static void count_batch(struct writer *w, size_t calls)
{
	int64_t ns, syncs = store_wal_syncs(w->store, &ns);

	if (syncs < w->syncs)
		w->syncs = w->sync_ns = 0;
	metrics_batch(w->metrics, calls, syncs - w->syncs, ns - w->sync_ns);
	w->syncs = syncs;
	w->sync_ns = ns;
}

/*~ All writes, one after the other.  Station 6 of 12.
 *
 * SQLite has one writer at a time, and a COMMIT that is to survive a power failure waits
 * for the disk: 0.2 ms here, 10 ms elsewhere.  If each call had a COMMIT of its own, 64
 * agents would wait for 64 of them.  So this thread takes all writes that have queued up
 * meanwhile, runs them in one transaction, and commits once (core/host/batch.c).  No
 * answer leaves before that COMMIT: what cadre acknowledged, it keeps.  The busier the host
 * is, the larger the batches are, and the less each call costs.
 *
 * A call that fails must leave no trace in the others.  Most that fail have changed nothing
 * and need no care; for the rest, the batch is undone and run again with savepoints.
 *
 * A claim of our task by somebody else may stand in the same batch.  There is no race in
 * that: the calls of a batch run in their order, and the second one finds a task that is
 * taken.
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
