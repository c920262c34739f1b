/*
 * How slow the slowest sends of a long run are: beside Redis' own, and beside the
 * slowest bare fdatasync of the same time.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tools/bench/floor.h"
#include "tools/bench/rival.h"
#include "tools/bench/stage.h"

enum { CLIENTS = 64, BODY = FLOOR_BODY, ROUNDS = 5 };

static const struct talk plain = { .body = BODY };
static const int body_size = BODY;

/* A write and a bare fdatasync now and then, beside ours. */
struct sampler {
	struct floor_page page;
	atomic_bool on, ending;
	double slowest_ms;
};

static void *sample_syncs(void *arg)
{
	static const struct timespec pause = { .tv_nsec = 5 * 1000 * 1000 };
	struct sampler *s = arg;

	while (!atomic_load(&s->ending)) {
		double ms = atomic_load(&s->on) ? floor_page_sync(&s->page) : 0;

		if (ms > s->slowest_ms)
			s->slowest_ms = ms;
		nanosleep(&pause, NULL);
	}
	return NULL;
}

struct run {
	struct load ours, theirs; /* theirs.socket NULL: without Redis */
	struct sampler sampler;
	struct judge p99, p999;
	double slowest_ms;
};

static int tail_play_round(struct run *r)
{
	struct outcome o = { 0 }, other = { 0 };

	if (r->theirs.socket && load_run(&r->theirs, &other))
		return -1;
	atomic_store(&r->sampler.on, true);
	if (load_run(&r->ours, &o))
		return -1;
	atomic_store(&r->sampler.on, false);
	bench_tell("%.0f sends/s, p99 %.2f ms, p99.9 %.2f ms, slowest %.2f ms", o.rate,
		   o.p99_ms, o.p999_ms, o.max_ms);
	if (o.max_ms > r->slowest_ms)
		r->slowest_ms = o.max_ms;
	if (r->theirs.socket) {
		judge_round(&r->p99, o.p99_ms, other.p99_ms);
		judge_round(&r->p999, o.p999_ms, other.p999_ms);
	}
	return 0;
}

static int tail_play(struct bench_ground *g, struct run *r)
{
	pthread_t thread;
	int rc = 0;

	if (floor_page_open(&r->sampler.page, g, "sync"))
		return -1;
	if (pthread_create(&thread, NULL, sample_syncs, &r->sampler))
		abort();
	for (int i = 0; i < ROUNDS && rc == 0; i++)
		rc = tail_play_round(r);
	atomic_store(&r->sampler.ending, true);
	pthread_join(thread, NULL);
	floor_page_close(&r->sampler.page);
	return rc;
}

static void print(struct bench_ground *g, const struct run *r)
{
	struct judge slowest = { 0 };

	score_rounds(g, "tail-p99-redis", &r->p99);
	score_rounds(g, "tail-p99.9-redis", &r->p999);
	/* A single round: the slowest of a part of the run says little. */
	judge_round(&slowest, r->slowest_ms, r->sampler.slowest_ms);
	score_rounds(g, "tail-max", &slowest);
}

int bench_tail(struct bench_ground *g)
{
	struct stage *s = stage_new(g, "tail", CLIENTS, 0, true);
	struct rival redis = { 0 };
	struct run r = { .ours = { .script = &script_send,
				   .arg = &plain,
				   .clients = CLIENTS,
				   .window = 1,
				   .warm = 0.3,
				   .seconds = g->fast ? 1 : 4 } };
	int rc = s ? 0 : -1;

	if (rc == 0 && g->peers) {
		rc = redis_open(&redis, g, CLIENTS);
		r.theirs = r.ours;
		r.theirs.script = &script_redis_send;
		r.theirs.socket = redis.socket;
		r.theirs.arg = &body_size;
	}
	if (rc == 0) {
		r.ours.socket = s->home.socket;
		rc = tail_play(g, &r);
	}
	rival_close(&redis);
	stage_free(s);
	if (rc == 0)
		print(g, &r);
	return rc;
}
