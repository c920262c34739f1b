/*
 * Sends: one client beside a plain loop, many beside Redis, deep beside rows;
 * and the whole life of a message.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tools/bench/rival.h"
#include "tools/bench/rows.h"

enum { CLIENTS = 64, BODY = 256, ROUNDS = 5, DEEP = 16 };

static const struct talk plain = { .body = BODY };
static const int body_size = BODY;

/* --- a stage with agents ------------------------------------------------------------- */

static struct stage *open_stage(struct ground *g, const char *name, int agents)
{
	struct stage *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	if (stage_open(s, g, name) || stage_team(s, agents, 0) || stage_serve(s)) {
		stage_close(s);
		free(s);
		return NULL;
	}
	return s;
}

static void close_stage(struct stage *s)
{
	if (!s)
		return;
	stage_close(s);
	free(s);
}

/* --- rounds ----------------------------------------------------------------------------- */

/* Ours and the base in turns; the medians. */
struct match {
	struct load ours, theirs; /* theirs.script NULL: `base` instead */
	double (*base)(struct ground *g, double seconds); /* or nothing at all */
	double value, other, p99_ms, base_p99_ms;
};

static int play(struct ground *g, struct match *m)
{
	double value[ROUNDS], base[ROUNDS], p99[ROUNDS];
	int rounds = g->fast ? 3 : ROUNDS;
	struct outcome o = { 0 };

	for (int i = 0; i < rounds; i++) {
		base[i] = 0;
		if (m->theirs.script && load_run(&m->theirs, &o))
			return -1;
		if (m->theirs.script)
			base[i] = o.rate;
		else if (m->base)
			base[i] = m->base(g, m->ours.seconds);
		if (base[i] < 0 || load_run(&m->ours, &o))
			return -1;
		value[i] = o.rate;
		p99[i] = o.p99_ms;
		tell("round %d: %.0f/s (p50 %.2f ms, p99 %.2f ms), base %.0f/s", i + 1,
		     o.rate, o.p50_ms, o.p99_ms, base[i]);
	}
	m->value = median(value, (size_t)rounds);
	m->other = median(base, (size_t)rounds);
	m->p99_ms = median(p99, (size_t)rounds);
	return 0;
}

static struct load load_of(struct ground *g, const struct script *script, int clients,
			   int window)
{
	return (struct load){
		.script = script,
		.arg = &plain,
		.clients = clients,
		.window = window,
		.warm = 0.3,
		.seconds = g->fast ? 1.5 : 3,
	};
}

/* On a stage of our own; beside Redis, where that is wanted and the match has a
 * script for it. */
static int play_on_stage(struct ground *g, int agents, const struct script *redis,
			 struct match *m)
{
	struct stage *s = open_stage(g, "send", agents);
	struct rival rival = { 0 };
	int rc = s ? 0 : -1;

	if (rc == 0 && redis && g->peers) {
		rc = redis_open(&rival, g, agents);
		m->theirs = m->ours;
		m->theirs.script = redis;
		m->theirs.socket = rival.socket;
		m->theirs.arg = &body_size;
	}
	if (rc == 0) {
		m->ours.socket = s->home.socket;
		rc = play(g, m);
	}
	rival_close(&rival);
	close_stage(s);
	return rc;
}

/* --- benches ------------------------------------------------------------------------------- */

/* At least `ratio` of what it stands beside, and `least` a second. */
static int print_match(const struct match *m, const char *name, const char *unit,
		       const char *target, double ratio, double least)
{
	score_print(&(struct score){
		.name = name,
		.unit = unit,
		.value = m->value,
		.base = m->other,
		.target = target,
		.ok = m->value >= least && m->value >= ratio * m->other,
	});
	return 0;
}

int bench_send_one(struct ground *g)
{
	struct match m = { .ours = load_of(g, &script_send, 1, 1), .base = floor_loop };

	if (play_on_stage(g, 2, NULL, &m))
		return -1;
	return print_match(&m, "send-1", "sends/s", ">=0.45x-loop", 0.45, 0);
}

int bench_rows(struct ground *g)
{
	double rate[3], value;
	int rounds = g->fast ? 1 : 3;

	for (int i = 0; i < rounds; i++) {
		if ((rate[i] = rows_rate(g, 5)) < 0)
			return -1;
		tell("round %d: %.0f/s", i + 1, rate[i]);
	}
	value = median(rate, (size_t)rounds);
	score_print(&(struct score){ .name = "rows",
				     .unit = "sends/s",
				     .value = value,
				     .target = ">=60000",
				     .ok = value >= 60000 });
	return 0;
}

int bench_send_many(struct ground *g)
{
	struct match m = { .ours = load_of(g, &script_send, CLIENTS, 1) };

	if (play_on_stage(g, CLIENTS, &script_redis_send, &m))
		return -1;
	return print_match(&m, "send-64", "sends/s", ">=0.55x-redis,>=30000", 0.55,
			   30000);
}

int bench_send_deep(struct ground *g)
{
	struct match m = { .ours = load_of(g, &script_send, CLIENTS, DEEP),
			   .base = rows_rate };

	if (play_on_stage(g, CLIENTS, NULL, &m))
		return -1;
	return print_match(&m, "send-64x16", "sends/s", ">=0.65x-rows", 0.65, 0);
}

int bench_cycle(struct ground *g)
{
	struct match m = { .ours = load_of(g, &script_cycle, CLIENTS, 1) };

	if (play_on_stage(g, CLIENTS, &script_redis_cycle, &m))
		return -1;
	return print_match(&m, "cycle-64", "cycles/s", ">=0.55x-redis,>=13000", 0.55,
			   13000);
}
