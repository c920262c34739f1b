/*
 * run_op - runs transcripts: stories of calls and their expected answers.
 *
 *	run_op FILE...             runs the transcripts, and a sample of failures in each.
 *	run_op --faults FILE...    repeats every call with every failure.
 *	run_op --way=N FILE...     steps fail only in way N of four ways, counted from 0.
 *	run_op --coverage FILE...  makes no failures, and names the operations, faults and events that
 *	                           no transcript has seen.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/hooks.h"
#include "tests/run_op/script.h"

static bool takes_anything(struct world *w, const struct op *op)
{
	struct answer a;
	struct asked q = { .op = op, .args = json_pack("{s:i}", "no_such_argument", 1) };

	world_ask(w, w->store, &q, &a);
	json_decref(q.args);
	return a.rc != FAULT_INVALID;
}

static enum fault_code run_bare(struct world *w, const struct op *op)
{
	struct call call = { .op = op, .store = w->store, .settings = &w->settings };

	return call_run(&call);
}

/* Checks that the operation refuses an unknown argument and a caller without the right, and
 * fails if the store is not available. */
static int sweep(const struct op *op)
{
	struct world w;
	const char *wrong = NULL;

	world_open(&w);
	if (takes_anything(&w, op))
		wrong = "takes any argument";
	if (op->who > WHO_OBSERVER && run_bare(&w, op) != FAULT_DENIED)
		wrong = "is for anybody";
	store_fail(w.store, 1, 5); /* SQLITE_BUSY */
	if (run_bare(&w, op) != FAULT_UNAVAILABLE)
		wrong = "needs no store";
	world_close(&w);
	if (wrong)
		printf("%s %s\n", op->name, wrong);
	return wrong != NULL;
}

int main(int argc, char **argv)
{
	struct coverage seen = { 0 };
	bool all = false, coverage = false;
	int wrong = 0, way = FAULTS_ALL_WAYS;

	coverage_init(&seen);
	for (int i = 1; i < argc; i++) {
		struct script s = { .coverage = &seen, .way = way };

		if (strcmp(argv[i], "--faults") == 0) {
			all = true;
			continue;
		}
		if (strcmp(argv[i], "--coverage") == 0) {
			coverage = true;
			continue;
		}
		if (strncmp(argv[i], "--way=", 6) == 0) {
			way = (int)strtol(argv[i] + 6, NULL, 10);
			continue;
		}
		s.faults = all ? FAULTS_ALL : coverage ? FAULTS_NONE : FAULTS_LAST;
		wrong += script_run(&s, argv[i]);
		fflush(stdout);
	}
	for (size_t i = 0; coverage && i < op_count; i++)
		wrong += sweep(&op_table[i]);
	if (coverage)
		wrong += coverage_report(&seen, "tests/op/unseen");
	coverage_release(&seen);
	printf("%s\n", wrong ? "FAILED" : "ok");
	return wrong != 0;
}
