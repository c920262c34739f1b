/*
 * rival - another program that does what we do, to stand beside.
 *
 * Started on a Unix socket in a folder of its own, as durable as we are.
 */
#ifndef TOOLS_BENCH_RIVAL_H
#define TOOLS_BENCH_RIVAL_H

#include "tools/bench/load.h"

struct rival {
	pid_t pid;
	char dir[256], socket[300];
};

/* redis-server with appendonly yes, appendfsync always, and a stream with a
 * group for each of `clients`. */
int redis_open(struct rival *p, struct bench_ground *g, int clients);
/* PostgreSQL with its defaults, which are durable, and a board of `tasks`. */
int postgres_open(struct rival *p, struct bench_ground *g, long tasks);
void rival_close(struct rival *p);

extern const struct script script_redis_send; /* XADD */
extern const struct script script_redis_cycle; /* XADD, XREADGROUP, XACK */
extern const struct script script_postgres; /* claim, complete */

#endif
