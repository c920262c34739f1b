#include "core/host/readers.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/home/home.h"
#include "core/host/batch.h"

enum { AT_ONCE = 16 }; /* taken with one lock; others may idle meanwhile */

struct reader {
	struct readers *all;
	struct store *store;
	uv_thread_t thread;
	bool runs;
};

struct readers {
	struct queue queue;
	struct reader reader[READERS];
	batch_done *done;
	void *arg;
};

static void run_one(struct reader *r, struct job *job)
{
	if (atomic_load_explicit(&job->gone, memory_order_relaxed))
		return;
	if (job->read) {
		job->read(job, r->store);
		return;
	}
	batch_read(r->store, &job->call);
}

static void read_jobs(void *arg)
{
	struct reader *r = arg;
	struct chain taken = { 0 };

	pthread_setname_np(pthread_self(), "cadre-read");
	while (queue_take(&r->all->queue, &taken, AT_ONCE)) {
		for (struct job *job = taken.first; job; job = job->next)
			run_one(r, job);
		r->all->done(r->all->arg, &taken);
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
	queue_release(&all->queue);
	free(all);
}

void readers_push(struct readers *all, struct chain *jobs)
{
	queue_push(&all->queue, jobs);
}
