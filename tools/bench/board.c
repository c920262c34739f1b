/*
 * The board: claims beside PostgreSQL, and what a large one costs.
 */
#include <stdlib.h>

#include "tools/bench/rival.h"
#include "tools/bench/rows.h"

enum { CLIENTS = 64, ROUNDS = 3 };

static const struct talk plain = { .body = 0 };

static int open_board(struct stage *s, struct ground *g, const char *name, int64_t tasks)
{
	return stage_open(s, g, name) || stage_team(s, CLIENTS, 0) ||
			       rows_tasks(s, tasks) || stage_serve(s)
		       ? -1
		       : 0;
}

static struct load load_of(struct ground *g, const struct script *script,
			   const char *socket)
{
	return (struct load){
		.script = script,
		.arg = &plain,
		.socket = socket,
		.clients = CLIENTS,
		.window = 1,
		.warm = 0.3,
		.seconds = g->fast ? 1 : 3,
	};
}

/* The medians of both, in turns; `other` may have no socket. */
static int play(const struct load *ours, const struct load *other, double *value,
		double *base)
{
	double v[ROUNDS], b[ROUNDS] = { 0 };
	struct outcome o = { 0 };

	for (int i = 0; i < ROUNDS; i++) {
		if (other->socket && load_run(other, &o))
			return -1;
		b[i] = o.rate;
		if (load_run(ours, &o))
			return -1;
		v[i] = o.rate;
		tell("round %d: %.0f/s (p99 %.2f ms), base %.0f/s", i + 1, o.rate,
		     o.p99_ms, b[i]);
	}
	*value = median(v, ROUNDS);
	*base = other->socket ? median(b, ROUNDS) : 0;
	return 0;
}

int bench_claim(struct ground *g)
{
	struct stage *s = calloc(1, sizeof(*s));
	struct rival postgres = { 0 };
	struct load ours, theirs;
	double value, base;
	int rc = -1;

	if (!s)
		abort();
	if (open_board(s, g, "board", g->fast ? 200000 : 500000) == 0 &&
	    (!g->peers || postgres_open(&postgres, g, 200000) == 0)) {
		ours = load_of(g, &script_claim, s->home.socket);
		theirs = load_of(g, &script_postgres, g->peers ? postgres.socket : NULL);
		rc = play(&ours, &theirs, &value, &base);
	}
	rival_close(&postgres);
	stage_close(s);
	free(s);
	if (rc == 0)
		score_print(&(struct score){ .name = "claim-64",
					     .unit = "pairs/s",
					     .value = value,
					     .base = base,
					     .target = ">=4x-postgresql",
					     .ok = value >= 4 * base });
	return rc;
}

int growth_claims(struct ground *g)
{
	struct stage *large = calloc(1, sizeof(*large)),
		     *small = calloc(1, sizeof(*small));
	struct load ours, theirs;
	double value, base;
	int rc = -1;

	if (!large || !small)
		abort();
	if (open_board(large, g, "large", 1000000) == 0 &&
	    open_board(small, g, "small", 1000) == 0) {
		ours = load_of(g, &script_borrow, large->home.socket);
		theirs = load_of(g, &script_borrow, small->home.socket);
		rc = play(&ours, &theirs, &value, &base);
	}
	stage_close(large);
	stage_close(small);
	free(large);
	free(small);
	if (rc == 0)
		score_print(&(struct score){ .name = "growth-claim",
					     .unit = "us",
					     .value = 1e6 / value,
					     .base = 1e6 / base,
					     .target = "<=1.3x-small",
					     .ok = base <= 1.3 * value });
	return rc;
}
