/*
 * Broadcasts into full inboxes; the slowest sends of a long run; writers that
 * open the file themselves beside a busy host.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/bench/stage.h"

enum { CLIENTS = 64, BODY = 256, AGENTS = 1000, CAPACITY = 100, WRITERS = 8 };

static const struct talk plain = { .body = BODY };

static struct stage *open_stage(struct ground *g, const char *name, int agents,
				int capacity)
{
	struct stage *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	if (stage_open(s, g, name) || stage_team(s, agents, capacity) || stage_serve(s)) {
		stage_close(s);
		free(s);
		return NULL;
	}
	return s;
}

static int close_stage(struct stage *s, int rc)
{
	stage_close(s);
	free(s);
	return rc;
}

static struct load load_of(struct stage *s, const struct script *script, int clients,
			   double seconds)
{
	return (struct load){
		.script = script,
		.arg = &plain,
		.socket = s->home.socket,
		.clients = clients,
		.window = 1,
		.warm = 0.5,
		.seconds = seconds,
	};
}

/* --- broadcast ------------------------------------------------------------------------ */

static int64_t count_rows(struct stage *s, const char *sql)
{
	char path[300];
	sqlite3 *db = NULL;
	sqlite3_stmt *st = NULL;
	int64_t n = -1;

	snprintf(path, sizeof(path), "%s/state.db", s->dir);
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
	    sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW)
		n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return n;
}

/* Every body is stored once, and every inbox is full. */
static int check_broadcast(struct stage *s, uint64_t sent)
{
	int64_t messages = count_rows(s, "SELECT count(*) FROM message");
	int64_t full =
		count_rows(s, "SELECT count(*) FROM agent_inbox WHERE queued = 100");

	if (messages < (int64_t)sent || messages > (int64_t)sent + 1000)
		return fail("%lld messages for %llu broadcasts", (long long)messages,
			    (unsigned long long)sent);
	return full >= AGENTS - 1 ? 0
				  : fail("only %lld inboxes are full", (long long)full);
}

int bench_broadcast(struct ground *g)
{
	struct stage *s = open_stage(g, "all", AGENTS, CAPACITY);
	struct load l;
	struct outcome filling, o;
	int rc;

	if (!s)
		return -1;
	l = load_of(s, &script_all, 1, 1);
	do /* until the inboxes are full */
		rc = load_run(&l, &filling);
	while (rc == 0 &&
	       count_rows(s,
			  "SELECT min(queued) FROM agent_inbox JOIN agent ON id = agent "
			  "WHERE name GLOB 'a[1-9]*'") < CAPACITY);
	l.seconds = g->fast ? 2 : 5;
	if (rc == 0)
		rc = load_run(&l, &o);
	if (rc == 0)
		rc = check_broadcast(s, o.cycles);
	if (close_stage(s, rc))
		return -1;
	score_print(&(struct score){ .name = "broadcast",
				     .unit = "ms-p50",
				     .value = o.p50_ms,
				     .target = "<=10",
				     .ok = o.p50_ms <= 10 });
	return 0;
}

/* --- tail --------------------------------------------------------------------------------- */

/* A write and a bare fdatasync now and then, beside all else. */
struct sampler {
	char path[300];
	atomic_bool ending;
	double slowest_ms;
};

static void *sample_syncs(void *arg)
{
	static const struct timespec pause = { .tv_nsec = 50 * 1000 * 1000 };
	static const char page[4096];
	struct sampler *s = arg;
	int fd = open(s->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	for (int n = 0; fd >= 0 && !atomic_load(&s->ending); n++) {
		int64_t begun = bench_now();
		double ms;

		if (pwrite(fd, page, sizeof(page), n % 256 * 4096) < 0 || fdatasync(fd))
			break;
		ms = (double)(bench_now() - begun) / 1e6;
		if (ms > s->slowest_ms)
			s->slowest_ms = ms;
		nanosleep(&pause, NULL);
	}
	if (fd >= 0)
		close(fd);
	return NULL;
}

static double megabytes(struct stage *s)
{
	char path[300];
	struct stat st;

	snprintf(path, sizeof(path), "%s/state.db", s->dir);
	return stat(path, &st) ? 0 : (double)st.st_size / 1e6;
}

static void score_tail(const struct outcome *o, double sync_ms)
{
	double most = 3 * sync_ms > 100 ? 3 * sync_ms : 100;

	score_print(&(struct score){ .name = "tail-p99",
				     .unit = "ms",
				     .value = o->p99_ms,
				     .target = "<=5",
				     .ok = o->p99_ms <= 5 });
	score_print(&(struct score){ .name = "tail-max",
				     .unit = "ms",
				     .value = o->max_ms,
				     .base = sync_ms,
				     .target = "<=100,or<=3x-fdatasync",
				     .ok = o->max_ms <= most });
}

/* A minute, and on until there is a gigabyte. */
static int long_run(struct ground *g, struct stage *s, struct outcome *worst)
{
	struct load l = load_of(s, &script_send, CLIENTS, g->fast ? 10 : 60);
	struct outcome o;

	if (load_run(&l, worst))
		return -1;
	tell("%.0f sends/s, %.0f MB", worst->rate, megabytes(s));
	for (l.seconds = 10; !g->fast && megabytes(s) < 1000;) {
		if (load_run(&l, &o))
			return -1;
		worst->p99_ms = o.p99_ms > worst->p99_ms ? o.p99_ms : worst->p99_ms;
		worst->max_ms = o.max_ms > worst->max_ms ? o.max_ms : worst->max_ms;
		tell("%.0f sends/s, %.0f MB", o.rate, megabytes(s));
	}
	return 0;
}

int bench_tail(struct ground *g)
{
	struct stage *s = open_stage(g, "tail", CLIENTS, 0);
	struct sampler sampler = { .slowest_ms = 0 };
	struct outcome o;
	pthread_t thread;
	int rc;

	if (!s)
		return -1;
	snprintf(sampler.path, sizeof(sampler.path), "%s/sync", g->dir);
	if (pthread_create(&thread, NULL, sample_syncs, &sampler))
		abort();
	rc = long_run(g, s, &o);
	atomic_store(&sampler.ending, true);
	pthread_join(thread, NULL);
	if (close_stage(s, rc))
		return -1;
	score_tail(&o, sampler.slowest_ms);
	return 0;
}

/* --- direct writers --------------------------------------------------------------------------- */

enum { SAMPLES = 20000 };

/* Shared with the children. */
struct writers {
	atomic_bool go, ending;
	atomic_int ready;
	size_t n[WRITERS];
	float ms[WRITERS][SAMPLES];
};

static struct client *open_direct(struct home *home)
{
	struct client_options o = { .home = home, .direct = true };
	struct client *c;
	struct fault f = { 0 };

	o.identity = (struct identity){ .level = WHO_OPERATOR };
	if (client_open(&c, &o, &f) == 0)
		return c;
	fail_fault("client", &f);
	return NULL;
}

/* Sends, rests 5 ms, sends. */
static int write_on(struct home *home, struct writers *w, int me)
{
	static const struct timespec rest = { .tv_nsec = 5 * 1000 * 1000 };
	struct client *c = open_direct(home);
	json_t *args = json_pack("{s:[s],s:s}", "to", "a1", "content", "hello");
	struct text out = { 0 };
	struct fault f = { 0 };

	atomic_fetch_add(&w->ready, 1);
	while (!atomic_load(&w->go))
		nanosleep(&rest, NULL);
	while (c && !atomic_load(&w->ending) && w->n[me] < SAMPLES) {
		int64_t begun = bench_now();

		out.len = 0;
		if (client_call(c, op_find("message.send"), args, &out, &f))
			return fail_fault("direct send", &f);
		w->ms[me][w->n[me]++] = (float)((double)(bench_now() - begun) / 1e6);
		nanosleep(&rest, NULL);
	}
	client_close(c);
	return c ? 0 : -1;
}

static void score_direct(struct writers *w)
{
	double *all = malloc(sizeof(*all) * WRITERS * SAMPLES), p99;
	size_t n = 0;

	if (!all)
		abort();
	for (int i = 0; i < WRITERS; i++)
		for (size_t k = 0; k < w->n[i]; k++)
			all[n++] = w->ms[i][k];
	p99 = share_of(all, n, 0.99);
	tell("%zu direct sends, p50 %.2f ms, max %.2f ms", n, median(all, n),
	     share_of(all, n, 1));
	score_print(&(struct score){ .name = "direct",
				     .unit = "ms-p99",
				     .value = p99,
				     .target = "<=10",
				     .ok = n > 0 && p99 <= 10 });
	free(all);
}

static int beside_host(struct ground *g, struct stage *s, struct writers *w)
{
	struct load l = load_of(s, &script_send, CLIENTS, g->fast ? 3 : 10);
	pid_t pids[WRITERS];
	struct outcome o;
	int rc, status;

	for (int i = 0; i < WRITERS; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			_exit(write_on(&s->home, w, i) ? 1 : 0);
	}
	while (atomic_load(&w->ready) < WRITERS)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	atomic_store(&w->go, true);
	rc = load_run(&l, &o);
	atomic_store(&w->ending, true);
	for (int i = 0; i < WRITERS; i++)
		if (waitpid(pids[i], &status, 0) < 0 || status)
			rc = fail("a direct writer failed");
	if (rc == 0)
		tell("the host did %.0f sends/s meanwhile", o.rate);
	return rc;
}

int bench_direct(struct ground *g)
{
	struct writers *w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct stage *s = open_stage(g, "direct", CLIENTS, 0);
	int rc;

	if (!s || w == MAP_FAILED)
		return -1;
	rc = beside_host(g, s, w);
	if (rc == 0)
		score_direct(w);
	munmap(w, sizeof(*w));
	return close_stage(s, rc);
}
