/*
 * coverage - the operations, faults and events that have occurred.
 */
#ifndef TESTS_RUN_OP_COVERAGE_H
#define TESTS_RUN_OP_COVERAGE_H

#include "core/op/op.h"

struct coverage {
	bool *ops; /* index: op->index */
	bool *faults; /* index: op->index * FAULT_COUNT + fault */
	bool *events; /* index: event number, below 1000 */
};

void coverage_init(struct coverage *c);
void coverage_release(struct coverage *c);
void coverage_fault(struct coverage *c, const struct op *op, enum fault_code code);

/* Prints each operation, fault and event that has not occurred, except those in the file
 * `path`. A line of this file has a name and the reason for the exception. Returns the number
 * of printed lines. */
int coverage_report(const struct coverage *c, const char *path);

#endif
