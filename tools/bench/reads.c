/*
 * Measures reads of a large board: a page, the ready tasks, the counts, a search.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/alloc.h"
#include "tools/bench/rows.h"

enum { CLIENTS = 4, ROUNDS = 3, LARGE = 100000, SMALL = 1000, INDEX_S = 120 };

static const struct {
	const char *name;
	struct talk talk;
} reads[] = {
	{ "growth-list", { .op = "task.list", .args = "{\"limit\":20}" } },
	{ "growth-pending",
	  { .op = "task.list", .args = "{\"limit\":20,\"status\":\"pending\"}" } },
	{ "growth-ready", { .op = "task.ready", .args = "{\"limit\":20}" } },
	{ "growth-status", { .op = "team.status", .args = "{}" } },
	{ "growth-search",
	  { .op = "search.find", .args = "{\"query\":\"task\",\"limit\":20}" } },
};

enum { N_READS = sizeof(reads) / sizeof(*reads) };

/* The index is made after the tasks, a slice with each search. */
static int wait_for_index(struct stage *s)
{
	const struct timespec pause = { .tv_nsec = 50000000 };
	struct text out = { 0 };
	bool whole = false;
	int rc = 0;

	for (int i = 0; i < INDEX_S * 20 && rc == 0 && !whole; i++) {
		text_release(&out);
		rc = stage_call(s, "search.find",
				"{\"query\":\"task\",\"limit\":1,\"team\":\"t\"}", &out);
		whole = rc == 0 && out.data && !strstr(out.data, "\"indexed_to\":0");
		nanosleep(&pause, NULL);
	}
	text_release(&out);
	return rc == 0 && !whole ? bench_fail("the index is not made") : rc;
}

static int reads_open_board(struct stage *s, struct bench_ground *g, const char *name,
			    int64_t tasks)
{
	return stage_open(s, g, name) || stage_team(s, CLIENTS, 0) ||
			       rows_tasks(s, tasks) || stage_serve(s) || wait_for_index(s)
		       ? -1
		       : 0;
}

/* Measures both stages in turns, so that other work of the machine slows both. */
static int reads_play(const struct stage *large, const struct stage *small, size_t i,
		      bool fast, struct judge *j)
{
	struct load l = { .script = &script_same,
			  .arg = &reads[i].talk,
			  .clients = CLIENTS,
			  .window = 1,
			  .warm = 0.2,
			  .seconds = fast ? 1 : 2 };
	struct outcome o, base;

	for (int n = 0; n < ROUNDS; n++) {
		l.socket = small->home.socket;
		if (load_run(&l, &base))
			return -1;
		l.socket = large->home.socket;
		if (load_run(&l, &o))
			return -1;
		judge_round(j, 1e6 / o.rate, 1e6 / base.rate);
	}
	return 0;
}

int bench_reads(struct bench_ground *g)
{
	struct stage *large = xcalloc(1, sizeof(*large)),
		     *small = xcalloc(1, sizeof(*small));
	struct judge judges[N_READS] = { 0 };
	int rc = -1;

	if (reads_open_board(large, g, "board-large", LARGE) == 0 &&
	    reads_open_board(small, g, "board-small", SMALL) == 0)
		rc = 0;
	for (size_t i = 0; i < N_READS && rc == 0; i++)
		if (score_due(g, reads[i].name))
			rc = reads_play(large, small, i, g->fast, &judges[i]);
	stage_close(large);
	stage_close(small);
	for (size_t i = 0; i < N_READS && rc == 0; i++)
		score_rounds(g, reads[i].name, &judges[i]);
	free(large);
	free(small);
	return rc;
}
