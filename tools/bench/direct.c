/*
 * Writers that open the file themselves beside a busy host, beside as many processes that
 * only take a lock, insert one row and sync.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "tools/bench/floor.h"
#include "tools/bench/stage.h"

enum { CLIENTS = 64, BODY = FLOOR_BODY, WRITERS = 8, ROUNDS = 4, SAMPLES = 20000 };

static const struct talk plain = { .body = BODY };

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
	bench_fail_fault("client", &f);
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
			return bench_fail_fault("direct send", &f);
		w->ms[me][w->n[me]++] = (float)((double)(bench_now() - begun) / 1e6);
		nanosleep(&rest, NULL);
	}
	client_close(c);
	return c ? 0 : -1;
}

static double slow_of(struct writers *w)
{
	double *all = xmalloc(sizeof(*all) * WRITERS * SAMPLES), p99;
	size_t n = 0;

	for (int i = 0; i < WRITERS; i++)
		for (size_t k = 0; k < w->n[i]; k++)
			all[n++] = w->ms[i][k];
	p99 = n ? judge_share(all, n, 0.99) : -1;
	free(all);
	return p99;
}

static int beside_host(struct stage *s, struct writers *w, double seconds)
{
	struct load l = { .script = &script_send,
			  .arg = &plain,
			  .socket = s->home.socket,
			  .clients = CLIENTS,
			  .window = 1,
			  .warm = 0.3,
			  .seconds = seconds };
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
			rc = bench_fail("a direct writer failed");
	if (rc == 0)
		bench_tell("the host did %.0f sends/s meanwhile", o.rate);
	return rc;
}

/* How long the slowest hundredth of the writes took, in ms; or -1. */
static double direct_slow(struct stage *s, double seconds)
{
	struct writers *w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	double p99 = -1;

	if (w == MAP_FAILED)
		return -1;
	if (beside_host(s, w, seconds) == 0)
		p99 = slow_of(w);
	munmap(w, sizeof(*w));
	return p99;
}

int bench_direct(struct bench_ground *g)
{
	struct stage *s = stage_new(g, "direct", CLIENTS, 0, true);
	struct judge j = { 0 };
	double seconds = g->fast ? 1 : 2;
	int rc = s ? 0 : -1;

	for (int i = 0; i < ROUNDS && rc == 0; i++) {
		double base = floor_locked(g, WRITERS, seconds);
		double ours = base < 0 ? -1 : direct_slow(s, seconds);

		rc = ours < 0 ? -1 : 0;
		if (rc == 0)
			judge_round(&j, ours, base);
	}
	stage_free(s);
	if (rc == 0)
		score_rounds(g, "direct", &j);
	return rc;
}
