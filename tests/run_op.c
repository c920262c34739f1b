/*
 * run_op - runs transcripts: stories of calls and what must come of them.
 *
 *	run_op FILE...             runs them, and a sample of failures in each
 *	run_op --faults FILE...    every failure of every call
 *	run_op --coverage FILE...  and tells which operations, faults and events
 *	                           none of them has seen
 */
#include <stdio.h>
#include <string.h>

#include "tests/run_op/script.h"

/* Every operation refuses an argument that it does not have, a caller who may not
 * and a store that is not to be had. */
static int sweep(const struct op *op)
{
	struct world w;
	struct answer a;
	struct asked q = { .op = op, .identity = { .level = WHO_OBSERVER } };
	struct call call = { .op = op };
	int wrong = 0;

	world_open(&w);
	w.now = 1;
	q.args = json_pack("{s:i}", "no_such_argument", 1);
	world_ask(&w, w.store, &q, &a);
	if (a.rc != FAULT_INVALID && ++wrong)
		printf("%s takes any argument\n", op->name);
	json_decref(q.args);
	call.store = w.store;
	call.settings = &w.settings;
	if (op->who > WHO_OBSERVER && call_run(&call) != FAULT_DENIED && ++wrong)
		printf("%s is for anybody\n", op->name);
	call.fault = (struct fault){ 0 };
	store_fail(w.store, 1, 5); /* SQLITE_BUSY */
	if (call_run(&call) != FAULT_UNAVAILABLE && ++wrong)
		printf("%s needs no store\n", op->name);
	world_close(&w);
	return wrong;
}

int main(int argc, char **argv)
{
	struct coverage seen = { 0 };
	bool all = false, coverage = false;
	int wrong = 0;

	coverage_init(&seen);
	for (int i = 1; i < argc; i++) {
		struct script s = { .coverage = &seen };

		if (strcmp(argv[i], "--faults") == 0) {
			all = true;
			continue;
		}
		if (strcmp(argv[i], "--coverage") == 0) {
			coverage = true;
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
