#include "core/host/readers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/host/batch.h"

/* After a call that took LONG_MS or longer, a reader serves other agents first. */
enum { LONG_MS = 5 };

struct reader {
	struct readers *all;
	struct store *store;
	uv_thread_t thread;
	bool runs;
	/* Caller of the running call. Other calls of the same agent or token are left to this
	 * reader. */
	struct identity who;
	/* Calls that other readers have left to this reader, because this reader runs a call of
	 * the same caller. */
	struct chain left;
};

struct readers {
	struct queue queue;
	uv_mutex_t lock; /* protects `who` and `left` of all readers */
	struct reader reader[READERS];
	batch_done *done;
	void *arg;
};

static void readers_run_one(struct reader *r, struct job *job)
{
	if (atomic_load_explicit(&job->gone, memory_order_relaxed))
		return;
	if (job->read)
		job->read(job, r->store);
	else
		batch_read(r->store, &job->call);
	job->lost = store_was_lost(r->store);
}

static bool readers_is_same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

static bool are_of_one(const struct identity *a, const struct identity *b)
{
	if (a->bearer || b->bearer)
		return readers_is_same(a->bearer, b->bearer);
	return readers_is_same(a->agent, b->agent) && readers_is_same(a->team, b->team);
}

/* Begins a call. Returns false if another reader runs a call of the same caller, and leaves the
 * job to this other reader. */
static bool reader_begin(struct reader *r, struct job *job)
{
	struct readers *all = r->all;
	bool begins = true;

	uv_mutex_lock(&all->lock);
	for (struct reader *o = all->reader; begins && o < all->reader + READERS; o++)
		if (are_of_one(&o->who, &job->call.identity)) {
			chain_add(&o->left, job);
			begins = false;
		}
	if (begins)
		r->who = job->call.identity;
	uv_mutex_unlock(&all->lock);
	return begins;
}

/* Ends a call. Returns the next call that was left to the reader; NULL: the reader has no such
 * call. After a long call, the calls that were left to the reader are moved to the end of the
 * queue. */
static struct job *reader_end(struct reader *r, bool was_long)
{
	struct job *next;

	uv_mutex_lock(&r->all->lock);
	if (was_long)
		queue_push(&r->all->queue, &r->left);
	next = chain_pop(&r->left);
	r->who = next ? next->call.identity : (struct identity){ 0 };
	uv_mutex_unlock(&r->all->lock);
	return next;
}

static void read_jobs(void *arg)
{
	struct reader *r = arg;
	struct chain taken = { 0 };

	pthread_setname_np(pthread_self(), "cadre-read");
	while (queue_take(&r->all->queue, &taken, 1)) {
		struct job *job = chain_pop(&taken);

		if (!reader_begin(r, job))
			continue;
		while (job) {
			int64_t begun = clock_steady_ms();

			readers_run_one(r, job);
			chain_add(&taken, job);
			job = reader_end(r, clock_steady_ms() - begun >= LONG_MS);
			r->all->done(r->all->arg, &taken);
		}
	}
}

static int reader_open(struct readers *all, struct reader *r, const char *dir,
		       struct fault *f)
{
	const uv_thread_options_t small = {
		.flags = UV_THREAD_HAS_STACK_SIZE,
		.stack_size = 1 << 20,
	};
	int rc = store_open(&r->store, dir, STORE_READ, NULL, f);

	if (rc)
		return rc;
	r->all = all;
	if (uv_thread_create_ex(&r->thread, &small, read_jobs, r))
		return fault_set(f, FAULT_UNAVAILABLE, "", "no thread");
	r->runs = true;
	return 0;
}

int readers_open(struct readers **out, const char *dir, batch_done *done, void *arg,
		 struct fault *f)
{
	struct readers *all = xcalloc(1, sizeof(*all));
	int rc = 0;

	queue_init(&all->queue);
	uv_mutex_init(&all->lock);
	all->done = done;
	all->arg = arg;
	for (int i = 0; i < READERS && rc == 0; i++)
		rc = reader_open(all, &all->reader[i], dir, f);
	if (rc) {
		readers_close(all);
		return rc;
	}
	*out = all;
	return 0;
}

void readers_close(struct readers *all)
{
	if (!all)
		return;
	queue_close(&all->queue);
	for (int i = 0; i < READERS; i++) {
		if (all->reader[i].runs)
			uv_thread_join(&all->reader[i].thread);
		store_close(all->reader[i].store);
	}
	uv_mutex_destroy(&all->lock);
	queue_release(&all->queue);
	free(all);
}

void readers_push(struct readers *all, struct chain *jobs)
{
	queue_push(&all->queue, jobs);
}
