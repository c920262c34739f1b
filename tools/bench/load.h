/*
 * load - clients that send as fast as they are answered.
 *
 * One thread drives all connections with frames made beforehand, so that what
 * is measured is the host.
 */
#ifndef LOAD_H
#define LOAD_H

#include <stddef.h>
#include <stdint.h>

#include "core/fault.h"

struct load {
	const char *socket;
	const char *team;
	int clients;  /* connections; the n-th acts as agent a{n} */
	int window;   /* calls in flight on each */
	int body;     /* bytes of a message */
	int seconds;
};

struct load_result {
	uint64_t done, failed;
	double seconds;
	double p50_ms, p99_ms, max_ms;
};

/* Sends from every agent to its neighbour, each call with a key. */
int load_run(const struct load *load, struct load_result *result,
	     struct fault *f);

#endif
