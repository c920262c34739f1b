/*
 * coverage - which operations, faults and events have occurred.
 */
#ifndef TESTS_RUN_OP_COVERAGE_H
#define TESTS_RUN_OP_COVERAGE_H

#include "core/op/op.h"

struct coverage {
	bool *ops; /* by op->index */
	bool *faults; /* op->index * FAULT_COUNT + fault */
	bool *events; /* by number, below 1000 */
};

void coverage_init(struct coverage *c);
void coverage_release(struct coverage *c);
void coverage_fault(struct coverage *c, const struct op *op, enum fault_code code);

/* Prints what has not occurred and is not excused in `path` (lines: what, then
 * why); returns how many. */
int coverage_report(const struct coverage *c, const char *path);

#endif
