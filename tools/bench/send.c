/*
 * Sends: one client, many, deep; and the whole life of a message.  Each stands beside
 * raw rows of the same bytes with as many messages a commit, and the many beside Redis.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tools/bench/floor.h"
#include "tools/bench/rival.h"
#include "tools/bench/rows.h"

enum { CLIENTS = 64, BODY = FLOOR_BODY, ROUNDS = 5, DEEP = 16, LARGEST = 256 };

static const struct talk plain = { .body = BODY };
static const int body_size = BODY;

/* Ours, the floor and the peer in turns. */
struct match {
	const char *name;
	struct load ours, theirs; /* theirs.script NULL: no peer */
	int batch; /* of the floor: messages a commit */
	struct judge floor, peer;
};

static double send_seconds_of(const struct bench_ground *g)
{
	return g->fast ? 0.6 : 1.2;
}

static int send_play_round(struct match *m, struct bench_floor *floor)
{
	struct outcome o = { 0 }, other = { 0 };
	double base = floor_rate(floor, m->batch, m->ours.seconds);

	if (base < 0 || load_run(&m->ours, &o) ||
	    (m->theirs.script && load_run(&m->theirs, &other)))
		return -1;
	judge_round(&m->floor, o.rate, base);
	if (m->theirs.script)
		judge_round(&m->peer, o.rate, other.rate);
	return 0;
}

static int send_play(struct bench_ground *g, struct match *m)
{
	struct bench_floor *floor;
	int rc = floor_open(&floor, g, 1);

	for (int i = 0; i < ROUNDS && rc == 0; i++)
		rc = send_play_round(m, floor);
	floor_close(floor);
	return rc;
}

static void print_match(struct bench_ground *g, const struct match *m)
{
	char name[40];

	score_rounds(g, m->name, &m->floor);
	snprintf(name, sizeof(name), "%s-redis", m->name);
	if (m->peer.n)
		score_rounds(g, name, &m->peer);
}

static void set_load(struct match *m, const struct bench_ground *g,
		     const struct script *script, int clients, int window)
{
	m->ours = (struct load){ .script = script,
				 .arg = &plain,
				 .clients = clients,
				 .window = window,
				 .warm = 0.2,
				 .seconds = send_seconds_of(g) };
}

/* Plays a match on a stage of our own; against Redis, too, where that is wanted and the
 * match has a script for it. */
static int play_on_stage(struct bench_ground *g, const struct script *redis,
			 struct match *m)
{
	struct stage *s = stage_new(g, "send", CLIENTS, 0, true);
	struct rival rival = { 0 };
	int rc = s ? 0 : -1;

	if (rc == 0 && redis && g->peers) {
		rc = redis_open(&rival, g, CLIENTS);
		m->theirs = m->ours;
		m->theirs.script = redis;
		m->theirs.socket = rival.socket;
		m->theirs.arg = &body_size;
	}
	if (rc == 0) {
		m->ours.socket = s->home.socket;
		rc = send_play(g, m);
	}
	rival_close(&rival);
	stage_free(s);
	if (rc == 0)
		print_match(g, m);
	return rc;
}

/* --- benches ------------------------------------------------------------------------------- */

int bench_send_one(struct bench_ground *g)
{
	struct match m = { .name = "send-1", .batch = 1 };

	set_load(&m, g, &script_send, 1, 1);
	return play_on_stage(g, NULL, &m);
}

int bench_send_many(struct bench_ground *g)
{
	struct match m = { .name = "send-64", .batch = CLIENTS };

	set_load(&m, g, &script_send, CLIENTS, 1);
	return play_on_stage(g, &script_redis_send, &m);
}

int bench_send_deep(struct bench_ground *g)
{
	struct match m = { .name = "send-64x16", .batch = LARGEST };

	set_load(&m, g, &script_send, CLIENTS, DEEP);
	return play_on_stage(g, NULL, &m);
}

int bench_cycle(struct bench_ground *g)
{
	struct match m = { .name = "cycle-64", .batch = CLIENTS };

	set_load(&m, g, &script_cycle, CLIENTS, 1);
	return play_on_stage(g, &script_redis_cycle, &m);
}

/* Compares all statements of ours, reads included, with four for each message. */
int bench_rows(struct bench_ground *g)
{
	struct judge j = { 0 };
	struct bench_floor *floor;
	int rc = floor_open(&floor, g, 1);

	for (int i = 0; i < ROUNDS && rc == 0; i++) {
		double base = floor_rate(floor, LARGEST, send_seconds_of(g));
		double ours = base < 0 ? -1 : rows_rate(g, send_seconds_of(g));

		rc = ours < 0 ? -1 : 0;
		if (rc == 0)
			judge_round(&j, ours, base);
	}
	floor_close(floor);
	if (rc == 0)
		score_rounds(g, "rows", &j);
	return rc;
}
