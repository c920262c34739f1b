/*
 * rows - the speed of storage alone: send's own statements in a plain loop.
 */
#ifndef TOOLS_BENCH_ROWS_H
#define TOOLS_BENCH_ROWS_H

#include "tools/bench/stage.h"

/* Sends a message from one agent to another with every statement that
 * message.send runs, reads included, inside an open transaction. */
struct rows {
	struct call *call;
	const char *body;
	uint64_t random;
	int agents;
	int64_t n;
};
int rows_send(struct rows *r, const uint8_t key[16]);
void rows_key(struct rows *r, uint8_t key[16], bool ordered);

/* Fills a board with `n` ready tasks. */
int rows_tasks(struct stage *s, int64_t n);
/* Fills a state with `n` old messages that are done with; half of their keys
 * are UUIDv4. */
int rows_history(struct stage *s, int64_t n);

/* Writes as many rows as it can, in batches of 256, durable, with checkpoints; per
 * second, or -1. */
double rows_rate(struct bench_ground *g, double seconds);

#endif
