/*
 * The board: claims beside raw rows and PostgreSQL, and what a large one costs.
 */
#include <stdlib.h>

#include "core/base/alloc.h"
#include "tools/bench/floor.h"
#include "tools/bench/rival.h"
#include "tools/bench/rows.h"

enum { CLIENTS = 64, ROUNDS = 4 };

static const struct talk plain = { .body = 0 };

static int board_open(struct stage *s, struct bench_ground *g, const char *name,
		      int64_t tasks)
{
	return stage_open(s, g, name) || stage_team(s, CLIENTS, 0) ||
			       rows_tasks(s, tasks) || stage_serve(s)
		       ? -1
		       : 0;
}

static struct load load_of(struct bench_ground *g, const struct script *script,
			   const char *socket)
{
	return (struct load){
		.script = script,
		.arg = &plain,
		.socket = socket,
		.clients = CLIENTS,
		.window = 1,
		.warm = 0.3,
		.seconds = g->fast ? 0.6 : 1.5,
	};
}

static int board_play(const struct load *ours, const struct load *other, struct judge *j)
{
	struct outcome o = { 0 }, base = { 0 };

	for (int i = 0; i < ROUNDS; i++) {
		if (load_run(other, &base) || load_run(ours, &o))
			return -1;
		judge_round(j, o.rate, base.rate);
	}
	return 0;
}

/* Compares the load with raw rows, as many messages a commit. */
static int play_floor(const struct load *ours, struct bench_ground *g, struct judge *j)
{
	struct bench_floor *floor;
	struct outcome o = { 0 };
	double base = floor_open(&floor, g, 1);

	for (int i = 0; i < ROUNDS && base >= 0; i++) {
		base = floor_rate(floor, CLIENTS, ours->seconds);
		if (base < 0 || load_run(ours, &o))
			base = -1;
		else
			judge_round(j, o.rate, base);
	}
	floor_close(floor);
	return base < 0 ? -1 : 0;
}

int bench_claim(struct bench_ground *g)
{
	struct stage *s = xcalloc(1, sizeof(*s));
	struct rival postgres = { 0 };
	struct judge floor = { 0 }, peer = { 0 };
	struct load ours, theirs;
	int rc = -1;

	/* More than all rounds can take on a fast machine: 40,000 a second. */
	if (board_open(s, g, "board", g->peers ? 600000 : 300000) == 0 &&
	    (!g->peers || postgres_open(&postgres, g, 200000) == 0)) {
		ours = load_of(g, &script_claim, s->home.socket);
		theirs = load_of(g, &script_postgres, postgres.socket);
		rc = play_floor(&ours, g, &floor) ||
				     (g->peers && board_play(&ours, &theirs, &peer))
			     ? -1
			     : 0;
	}
	rival_close(&postgres);
	stage_close(s);
	free(s);
	if (rc)
		return -1;
	score_rounds(g, "claim-64", &floor);
	score_rounds(g, "claim-64-postgresql", &peer);
	return 0;
}

int growth_claims(struct bench_ground *g)
{
	struct stage *large = xcalloc(1, sizeof(*large)),
		     *small = xcalloc(1, sizeof(*small));
	struct judge j = { 0 };
	int rc = -1;

	if (board_open(large, g, "large", 1000000) == 0 &&
	    board_open(small, g, "small", 1000) == 0) {
		struct load ours = load_of(g, &script_borrow, large->home.socket);
		struct load theirs = load_of(g, &script_borrow, small->home.socket);

		rc = board_play(&ours, &theirs, &j);
	}
	stage_close(large);
	stage_close(small);
	free(large);
	free(small);
	if (rc == 0)
		score_rounds(g, "growth-claim", &j);
	return rc;
}
