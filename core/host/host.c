#include "core/host/host.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/access/token.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/version.h"
#include "core/host/guests/hosted_ask.h"
#include "core/host/host_inside.h"
#include "core/host/listener.h"
#include "core/host/metrics/metrics.h"
#include "core/host/notifier.h"
#include "core/host/notify.h"
#include "core/host/rates.h"
#include "core/host/readers.h"
#include "core/host/scribe.h"
#include "core/host/spending.h"
#include "core/host/workers.h"
#include "core/host/writer.h"
#include "core/mirror/mirror.h"

enum {
	STOP_MS = 10000, /* for what is under way; then the loop ends anyway */
	PART = 8, /* writes that are worth a wake-up of the writer's thread */
	STARTS = 12, /* threads for VMs that start, beside those for copies */
};

/* splitmix64 over a start that nobody knows: no system call for each call. */
uint64_t host_seed(struct host *host)
{
	uint64_t z = host->seed += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* --- jobs ---------------------------------------------------------------------- */

static void host_refuse(struct host *host, struct job *job)
{
	metrics_hit(host->metrics, HIT_QUEUE);
	fault_set(&job->call.fault, FAULT_UNAVAILABLE, "", "too many calls are waiting");
	job->call.fault.retry_after_ms = RETRY_MS;
	chain_add(&host->early, job);
}

/* Operations that work on files have threads of their own: they would hold up the
 * threads that only query the store. */
static bool host_is_slow(const struct job *job)
{
	return job->call.op && job->call.op->steps;
}

/* Gives the writer's thread the writes of the clock and then, unless these are held, those
 * of callers.  With `part` others follow before the loop sleeps. */
static void hand_writes(struct host *host, bool held, bool part)
{
	struct chain all;

	if (!held && host->writes.first)
		reaper_writes(host);
	all = host->ahead_writes;
	host->ahead_writes = (struct chain){ 0 };
	if (!held)
		chain_join(&all, &host->writes);
	if (part)
		writer_push_part(host->writer, &all);
	else if (all.first || host->parted)
		writer_push(host->writer, &all);
	host->parted = part;
}

void host_write(struct host *host, struct job *job)
{
	if (host->n_writes >= WRITES_MOST) {
		host_refuse(host, job);
		return;
	}
	host->n_writes++;
	job->writing = true;
	chain_add(host_is_slow(job) ? &host->works : &host->writes, job);
	/* The writer's thread begins while the loop still reads what the others say. */
	if (host->writes.n == PART && !reaper_holds(host))
		hand_writes(host, false, true);
}

void host_read(struct host *host, struct job *job)
{
	if (host->n_reads >= WRITES_MOST) {
		host_refuse(host, job);
		return;
	}
	host->n_reads++;
	job->reading = true;
	chain_add(host_is_slow(job) ? &host->works : &host->reads, job);
}

void host_ahead(struct host *host, struct job *job)
{
	bool writes = job->call.op && job->call.op->flags & OP_WRITE;

	*(writes ? &host->n_writes : &host->n_reads) += 1;
	*(writes ? &job->writing : &job->reading) = true;
	chain_add(writes ? &host->ahead_writes : &host->ahead_reads, job);
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

static void host_finish(struct host *host, struct chain *jobs)
{
	for (struct job *job; (job = chain_pop(jobs));) {
		const struct fault *lost = job->lost;

		if (job->call.ids.known)
			host->ids = job->call.ids;
		host->n_writes -= job->writing;
		host->n_reads -= job->reading;
		job->writing = job->reading = false;
		job->done(job);
		if (lost && !host->stopping)
			reaper_lost(host, lost);
	}
}

/* --- the loop --------------------------------------------------------------------- */

/* Gives answers to the kernel and calls to the threads, before the loop sleeps. */
static void hand_over(struct host *host)
{
	bool held;

	while (host->early.first || host->dirty) {
		struct chain early = host->early;

		host->early = (struct chain){ 0 };
		host_finish(host, &early);
		conn_flush(host);
	}
	spending_look(host);
	held = reaper_holds(host);
	hand_writes(host, held, false);
	if (host->ahead_reads.first)
		readers_push(host->readers, &host->ahead_reads);
	if (held)
		return;
	if (host->reads.first)
		readers_push(host->readers, &host->reads);
	if (host->works.first)
		workers_push(host->workers, &host->works);
}

static void on_before_poll(uv_prepare_t *h)
{
	hand_over(h->data);
}

static void on_after_poll(uv_check_t *h)
{
	hand_over(h->data);
}

/* Passes answered calls to the loop; runs on the writer's thread or a reader's. */
static void on_batch(void *arg, struct chain *jobs)
{
	struct host *host = arg;

	if (queue_push(&host->done, jobs))
		uv_async_send(&host->answered);
}

static void on_answered(uv_async_t *h)
{
	struct host *host = h->data;
	size_t writes = host->n_writes;
	struct chain done = { 0 };

	queue_take_all(&host->done, &done);
	host_finish(host, &done);
	if (host->n_writes < writes)
		follow_poke(host);
}

static void on_signal(uv_signal_t *h, int number)
{
	struct host *host = h->data;

	log_line(host->log, LOG_LEVEL_INFO, "the host stops",
		 LOG_NUMBER("signal", number));
	host_stop(host);
}

/* --- end ---------------------------------------------------------------------------- */

static void host_close_handle(void *handle)
{
	uv_handle_t *h = handle;

	if (h->type && !uv_is_closing(h))
		uv_close(h, NULL);
}

/* Begins the end: new clients are turned away, waits are answered as they stand; calls
 * under way come to their end in close_threads(). */
void host_stop(struct host *host)
{
	if (host->stopping)
		return;
	host->stopping = true;
	notify_service("STOPPING=1");
	host_deafen(host);
	turns_close(host);
	reconcile_close(host);
	reaper_close(host);
	spending_close(host);
	waiters_end(host);
	waiters_close(host);
	follow_close(host);
	hosted_guests_close(host);
	ask_look(host);
	host_close_handle(&host->term);
	host_close_handle(&host->interrupt);
	uv_stop(&host->loop);
}

/* Runs the calls that the threads still have, so that their callers get answers. */
static void drain(struct host *host)
{
	uint64_t end = uv_now(&host->loop) + STOP_MS;

	while ((host->n_writes || host->n_reads || host->early.first) &&
	       uv_now(&host->loop) < end)
		uv_run(&host->loop, UV_RUN_ONCE);
	hand_over(host);
	web_close(host);
	while (host->conns)
		conn_close(host->conns);
}

static void close_loop(struct host *host)
{
	host_close_handle(&host->before_poll);
	host_close_handle(&host->after_poll);
	host_close_handle(&host->answered);
	edits_close(host);
	uv_run(&host->loop, UV_RUN_DEFAULT);
	uv_loop_close(&host->loop);
}

/* --- start --------------------------------------------------------------------------- */

/* These handles keep the loop running while they are open; other handles do not. */
static void open_loop(struct host *host)
{
	uv_loop_init(&host->loop);
	uv_prepare_init(&host->loop, &host->before_poll);
	uv_check_init(&host->loop, &host->after_poll);
	uv_async_init(&host->loop, &host->answered, on_answered);
	uv_signal_init(&host->loop, &host->term);
	uv_signal_init(&host->loop, &host->interrupt);
	host->before_poll.data = host->after_poll.data = host;
	host->answered.data = host->term.data = host->interrupt.data = host;
	uv_prepare_start(&host->before_poll, on_before_poll);
	uv_check_start(&host->after_poll, on_after_poll);
	uv_signal_start(&host->term, on_signal, SIGTERM);
	uv_signal_start(&host->interrupt, on_signal, SIGINT);
	signal(SIGPIPE, SIG_IGN);
}

static int open_threads(struct host *host, struct fault *f)
{
	const char *dir = host->home->dir;
	const struct writer_options write = {
		.dir = dir,
		.flags = home_store_flags(host->home),
		.metrics = host->metrics,
	};
	int rc;

	queue_init(&host->done);
	rc = writer_open(&host->writer, &write, on_batch, host, f);
	if (rc)
		return rc;
	rc = readers_open(&host->readers, dir, on_batch, host, f);
	if (rc == 0)
		rc = workers_open(&host->workers, host->home, on_batch, host, f);
	if (rc == 0)
		rc = scribe_open(&host->scribe, host->home, host->log, &host->edits, f);
	if (rc == 0)
		rc = notifier_open(&host->notifier, host->home, host->log, f);
	return rc;
}

static void close_threads(struct host *host)
{
	struct chain late = { 0 };

	notifier_close(host->notifier);
	workers_close(host->workers);
	readers_close(host->readers);
	scribe_close(host->scribe);
	writer_close(host->writer);
	queue_take_all(&host->done, &late);
	/* Jobs that the thread pool finished after the host had stopped taking calls. */
	chain_join(&late, &host->writes);
	chain_join(&late, &host->reads);
	chain_join(&late, &host->early);
	for (struct job *job; (job = chain_pop(&late));)
		job_free(job);
	rates_free(host->rates);
	metrics_free(host->metrics);
	queue_release(&host->done);
	job_pool_release(&host->jobs);
}

static void say_ready(struct host *host)
{
	int fd = host->options->ready_fd;

	notify_service("READY=1");
	log_line(host->log, LOG_LEVEL_INFO, "the host serves",
		 LOG_TEXT("state", host->home->dir),
		 LOG_TEXT("socket", host->home->socket),
		 LOG_TEXT("version", CADRE_VERSION), LOG_NUMBER("pid", host->pid));
	if (fd < 0)
		return;
	if (write(fd, "ready\n", 6) != 6)
		log_line(host->log, LOG_LEVEL_WARN, "nobody reads ready_fd", LOG_NOTHING);
	close(fd);
}

/* Limits malloc's arenas: only one thread at a time uses the allocator much, and more
 * arenas only cost memory. */
static void spare_memory(void)
{
	mallopt(M_ARENA_MAX, 2);
	mallopt(M_TRIM_THRESHOLD, 1 << 20);
	mallopt(M_MMAP_THRESHOLD, 128 << 10); /* given back at once */
}

/* The loop makes its pool once, with as many threads as the environment says by
 * then: for the copies that are made at once, and for VMs that start. */
static void widen_pool(const struct config *config)
{
	char threads[24];

	snprintf(threads, sizeof(threads), "%lld",
		 (long long)config->limits_max_concurrent_forks + STARTS);
	setenv("UV_THREADPOOL_SIZE", threads, 0);
}

/* Guests and doors are given tokens that are made with the secret. */
static void host_check_secret(struct host *host, struct store *store)
{
	struct secret_fit fit = { 0 };
	struct fault f = { 0 };

	if (secret_look(store, host->home->settings.secret, &fit, &f) == 0 &&
	    fit.fit < fit.tokens)
		log_line(
			host->log, LOG_LEVEL_WARN,
			"the secret is of another state: agents have tokens that it does not make, see `cadre doctor`",
			LOG_NUMBER("agents", fit.tokens - fit.fit),
			LOG_NUMBER("of", fit.tokens));
}

/* Looks at the state as it is before anybody calls. */
static void look_first(struct host *host)
{
	struct store *store = NULL;
	struct fault f = { 0 };

	if (store_open(&store, host->home->dir, STORE_READ, NULL, &f) == 0) {
		host_check_secret(host, store);
		metrics_start(host->metrics, store);
	}
	store_close(store);
}

static int host_serve(struct host *host, struct fault *f)
{
	int rc;

	open_loop(host);
	waiters_init(host);
	follow_init(host);
	reaper_init(host);
	spending_open(host);
	edits_open(host);
	reconcile_init(host);
	turns_init(host);
	network_init(host);
	rc = open_threads(host, f);
	if (rc == 0)
		rc = host_listen(host, f);
	if (rc == 0) {
		look_first(host);
		web_open(host);
		say_ready(host);
		reaper_start(host);
		reconcile_start(host);
		turns_start(host);
		uv_run(&host->loop, UV_RUN_DEFAULT);
		drain(host);
	} else
		host_stop(host);
	close_loop(host);
	network_release(host);
	reconcile_release(host);
	turns_release(host);
	close_threads(host);
	edits_release(&host->edits);
	if (host->lost.code)
		*f = host->lost;
	return rc ? rc : (int)f->code;
}

/* An open folder keeps its inode, from which the socket has its name: a state that
 * is made anew at the same path has another one. */
static int pin_folder(const struct home *home)
{
	return open(home->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int host_run(const struct host_options *options, struct fault *f)
{
	struct host *host;
	int lock, folder, rc;

	spare_memory();
	widen_pool(&options->home->settings.config);
	lock = home_hold(options->home, f);
	if (lock < 0)
		return lock;
	folder = pin_folder(options->home);
	host = xcalloc(1, sizeof(*host));
	crowd_open(&host->crowd);
	host->metrics = metrics_new();
	host->options = options;
	host->home = options->home;
	mirror_attend(options->home);
	host->settings = options->home->settings;
	host->level = (enum log_level)host->settings.config.log_level;
	host->seed = home_random();
	host->pid = getpid();
	host->lock = lock;
	snprintf(host->boot_id, sizeof(host->boot_id), "%016llx%016llx",
		 (unsigned long long)home_random(), (unsigned long long)home_random());
	rc = home_make_run(options->home, f);
	home_sweep_runs(options->home);
	if (rc == 0)
		rc = log_open(&host->log, options->home->dir, host->level,
			      options->ready_fd < 0, f);
	if (rc == 0)
		rc = host_serve(host, f);
	log_close(host->log);
	free(host);
	home_leave_run(options->home);
	close(lock);
	if (folder >= 0)
		close(folder);
	return rc;
}
