/* calls - passes calls between the loop and the threads. */
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/home/home.h"
#include "core/host/host_inside.h"
#include "core/host/metrics/metrics.h"
#include "core/host/readers.h"
#include "core/host/writer.h"
#include "core/vault/vault.h"
#include "core/vault/vault_trash.h"

/* --- workers ----------------------------------------------------------------- */

/*
 * workers - the threads of a host that run calls which may take long.
 *
 * Long calls work on the vault's files, or read the output of turns. Each worker has its own
 * connection to the state. To write, a worker waits in the queue of writers like any process.
 * There are only a few workers, so that the workers do not use up the machine. A call that
 * waits for another call's lock keeps its thread. If all threads wait like this, the queued
 * jobs wait, too.
 */

enum { WORKERS = 4 };

struct workers;

struct worker {
	struct workers *all;
	struct store *store; /* NULL before the worker's first call */
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

/* Carries out the changes of the vault that earlier processes decided on, but did not make
 * before they ended. Also removes notes whose time in the trash has ended. */
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

/* The first thread begins with the work that earlier processes have not finished. */
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

/* runs the queued jobs before it returns; `all` may be NULL */
static void workers_close(struct workers *all)
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

/* A worker calls `done` for each job that it has run. The first worker opens the state when it
 * starts, and each other worker at its first call. */
static int workers_open(struct workers **out, const struct home *home, batch_done *done,
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

enum {
	PART = 8, /* this many writes are worth a wake-up of the writer's thread */
	RETRY_MS = 100,
};

/* --- jobs ---------------------------------------------------------------------- */

static void calls_refuse(struct host *host, struct job *job)
{
	metrics_hit(host->metrics, HIT_QUEUE);
	fault_set(&job->call.fault, FAULT_UNAVAILABLE, "", "too many calls are waiting");
	job->call.fault.retry_after_ms = RETRY_MS;
	chain_add(&host->calls->early, job);
}

/* Whether a worker must run the call. Operations that work on files run on workers, since work
 * on files would delay the threads that only query the store. */
static bool calls_is_slow(const struct job *job)
{
	return job->call.op && job->call.op->steps;
}

/* Gives the writer's thread first the writes of host_ahead(), and then the writes of callers.
 * If `held` is set, the writes of callers have to wait. `part` means that further writes follow
 * before the loop sleeps. */
static void hand_writes(struct host *host, bool held, bool part)
{
	struct calls *c = host->calls;
	struct chain all;

	if (!held && c->writes.first)
		reaper_writes(host);
	all = c->ahead_writes;
	c->ahead_writes = (struct chain){ 0 };
	if (!held)
		chain_join(&all, &c->writes);
	if (part)
		writer_push_part(c->writer, &all);
	else if (all.first || c->parted)
		writer_push(c->writer, &all);
	c->parted = part;
}

void host_write(struct host *host, struct job *job)
{
	struct calls *c = host->calls;

	if (c->n_writes >= WRITES_MOST) {
		calls_refuse(host, job);
		return;
	}
	c->n_writes++;
	job->writing = true;
	chain_add(calls_is_slow(job) ? &c->works : &c->writes, job);
	/* The writer's thread begins while the loop still reads calls of other clients. */
	if (c->writes.n == PART && !reaper_holds(host))
		hand_writes(host, false, true);
}

void host_read(struct host *host, struct job *job)
{
	struct calls *c = host->calls;

	if (c->n_reads >= WRITES_MOST) {
		calls_refuse(host, job);
		return;
	}
	c->n_reads++;
	job->reading = true;
	chain_add(calls_is_slow(job) ? &c->works : &c->reads, job);
}

void host_work(struct host *host, struct job *job)
{
	host->calls->n_reads++;
	job->reading = true;
	chain_add(&host->calls->works, job);
}

void host_ahead(struct host *host, struct job *job)
{
	struct calls *c = host->calls;
	bool writes = job->call.op && job->call.op->flags & OP_WRITE;

	*(writes ? &c->n_writes : &c->n_reads) += 1;
	*(writes ? &job->writing : &job->reading) = true;
	chain_add(writes ? &c->ahead_writes : &c->ahead_reads, job);
}

struct job *host_job(struct host *host, const struct op *op,
		     void (*done)(struct job *job), void *owner)
{
	struct job *job = job_new(&host->jobs);
	struct call *call = &job->call;

	call->op = op;
	call->in = arena_alloc(&call->arena, op->in->size);
	call->out = arena_alloc(&call->arena, op->out->size);
	call->settings = &host->settings;
	call->identity.level = WHO_HOST;
	call->ids = host->ids;
	call->host = host->pid;
	job->done = done;
	job->owner = owner;
	return job;
}

void host_prepare(struct host *host, struct job *job)
{
	job->call.now = clock_wall_ms();
	job->first = clock_boot_ms();
	job->call.seed = host_seed(host);
	job->ready = arena_mark(&job->call.arena);
}

void host_submit(struct host *host, struct job *job)
{
	host_prepare(host, job);
	if (job->call.op->flags & OP_WRITE)
		host_write(host, job);
	else
		host_read(host, job);
}

void host_ask_op(struct host *host, const struct op *op, void (*done)(struct job *job),
		 void *owner, const void *in)
{
	struct job *job = host_job(host, op, done, owner);

	job_fill(job, in);
	host_submit(host, job);
}

static void calls_finish(struct host *host, struct chain *jobs)
{
	struct calls *c = host->calls;

	for (struct job *job; (job = chain_pop(jobs));) {
		const struct fault *lost = job->lost;

		if (job->call.ids.known)
			host->ids = job->call.ids;
		c->n_writes -= job->writing;
		c->n_reads -= job->reading;
		job->writing = job->reading = false;
		job->done(job);
		if (lost && !host->stopping)
			reaper_lost(host, lost);
	}
}

/* --- the loop --------------------------------------------------------------------- */

/* Before the loop sleeps, passes answers to the kernel, and calls to the threads. */
static void hand_over(struct host *host)
{
	struct calls *c = host->calls;
	bool held;

	while (c->early.first || host->clients->dirty) {
		struct chain early = c->early;

		c->early = (struct chain){ 0 };
		calls_finish(host, &early);
		conn_flush(host);
	}
	held = reaper_holds(host);
	hand_writes(host, held, false);
	if (c->ahead_reads.first)
		readers_push(c->readers, &c->ahead_reads);
	if (held)
		return;
	if (c->reads.first)
		readers_push(c->readers, &c->reads);
	if (c->works.first)
		queue_push(&c->workers->queue, &c->works);
}

/* Passes answered calls to the loop. Runs on the writer's thread, or on the thread of a reader
 * or worker. */
static void on_batch(void *arg, struct chain *jobs)
{
	struct host *host = arg;

	if (queue_push(&host->calls->done, jobs))
		uv_async_send(&host->calls->answered);
}

static void on_answered(uv_async_t *h)
{
	struct host *host = h->data;
	struct calls *c = host->calls;
	size_t writes = c->n_writes;
	struct chain done = { 0 };

	queue_take_all(&c->done, &done);
	calls_finish(host, &done);
	if (c->n_writes < writes)
		follow_poke(host);
}

/* --- life --------------------------------------------------------------------------- */

static int calls_open(struct host *host, struct fault *f)
{
	const char *dir = host->home->dir;
	const struct writer_options write = {
		.dir = dir,
		.flags = home_store_flags(host->home),
		.metrics = host->metrics,
	};
	struct calls *c = host->calls;
	int rc;

	uv_async_init(&host->loop, &c->answered, on_answered);
	c->answered.data = host;
	queue_init(&c->done);
	rc = writer_open(&c->writer, &write, on_batch, host, f);
	if (rc)
		return rc;
	rc = readers_open(&c->readers, dir, on_batch, host, f);
	if (rc == 0)
		rc = workers_open(&c->workers, host->home, on_batch, host, f);
	return rc;
}

static bool calls_are_under_way(const struct host *host)
{
	const struct calls *c = host->calls;

	return c->n_writes || c->n_reads || c->early.first;
}

static void calls_end(struct host *host)
{
	uv_close((uv_handle_t *)&host->calls->answered, NULL);
}

static void calls_release(struct host *host)
{
	struct calls *c = host->calls;
	struct chain late = { 0 };

	workers_close(c->workers);
	readers_close(c->readers);
	writer_close(c->writer);
	queue_take_all(&c->done, &late);
	/* Now `late` holds the jobs that the threads finished after the host had stopped taking
	 * calls. */
	chain_join(&late, &c->writes);
	chain_join(&late, &c->reads);
	chain_join(&late, &c->early);
	for (struct job *job; (job = chain_pop(&late));)
		job_free(job);
	queue_release(&c->done);
}

const struct host_room room_calls = {
	.size = sizeof(struct calls),
	.open = calls_open,
	.look = hand_over,
	.is_busy = calls_are_under_way,
	.end = calls_end,
	.release = calls_release,
};
