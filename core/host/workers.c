#include "core/host/workers.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/vault/vault.h"
#include "core/vault/vault_trash.h"

struct worker {
	struct workers *all;
	struct store *store; /* NULL before its first call */
	uv_thread_t thread;
	bool runs;
};

struct workers {
	const struct home *home;
	struct queue queue;
	struct worker worker[WORKERS];
	batch_done *done;
	void *arg;
};

/* An earlier process may have decided a change of the vault and died before making
 * it: it is made now.  And notes' time in the trash may be over. */
static void workers_sweep(struct worker *w)
{
	struct call call = { .store = w->store, .settings = &w->all->home->settings };

	vault_sweep(&call);
	call.now = clock_wall_ms();
	vault_trash_trim(&call);
	arena_release(&call.arena);
}

static void workers_run_one(struct worker *w, struct job *job)
{
	struct call *call = &job->call;

	if (atomic_load_explicit(&job->gone, memory_order_relaxed))
		return;
	if (job->read) {
		job->read(job, NULL);
		return;
	}
	if (!w->store &&
	    store_open(&w->store, w->all->home->dir, 0, NULL, &call->fault) < 0)
		return;
	call->store = w->store;
	call->now = clock_wall_ms();
	call_run(call);
	job->lost = store_was_lost(w->store);
}

static void workers_work(void *arg)
{
	struct worker *w = arg;
	struct chain taken = { 0 };

	while (queue_take(&w->all->queue, &taken, 1)) {
		workers_run_one(w, taken.first);
		w->all->done(w->all->arg, &taken);
	}
}

/* The first thread begins with what is left of earlier processes. */
static void work_first(void *arg)
{
	struct worker *w = arg;
	struct fault f = { 0 };

	if (store_open(&w->store, w->all->home->dir, 0, NULL, &f) == 0)
		workers_sweep(w);
	workers_work(w);
}

static int worker_open(struct workers *all, int i, struct fault *f)
{
	const uv_thread_options_t small = {
		.flags = UV_THREAD_HAS_STACK_SIZE,
		.stack_size = 1 << 20,
	};
	struct worker *w = &all->worker[i];

	w->all = all;
	if (uv_thread_create_ex(&w->thread, &small, i ? workers_work : work_first, w))
		return fault_set(f, FAULT_UNAVAILABLE, "", "no thread");
	w->runs = true;
	return 0;
}

int workers_open(struct workers **out, const struct home *home, batch_done *done,
		 void *arg, struct fault *f)
{
	struct workers *all = xcalloc(1, sizeof(*all));
	int rc = 0;

	queue_init(&all->queue);
	all->home = home;
	all->done = done;
	all->arg = arg;
	for (int i = 0; i < WORKERS && rc == 0; i++)
		rc = worker_open(all, i, f);
	if (rc) {
		workers_close(all);
		return rc;
	}
	*out = all;
	return 0;
}

void workers_close(struct workers *all)
{
	if (!all)
		return;
	queue_close(&all->queue);
	for (int i = 0; i < WORKERS; i++) {
		if (all->worker[i].runs)
			uv_thread_join(&all->worker[i].thread);
		store_close(all->worker[i].store);
	}
	queue_release(&all->queue);
	free(all);
}

void workers_push(struct workers *all, struct chain *jobs)
{
	queue_push(&all->queue, jobs);
}
