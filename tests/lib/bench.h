/*
 * bench - a rig on a folder of its own, for the unit tests of what a host tells its
 * guest and is told by it.
 */
#ifndef TESTS_LIB_BENCH_H
#define TESTS_LIB_BENCH_H

#include "tests/lib/rig.h"

/* A test puts it first in a struct of its own, which is the state of cmocka. */
struct bench {
	char base[64];
	struct rig rig;
};

/* Makes that struct, of `size` bytes, zeroed; the guest answers with `heard`. */
void bench_open(void **state, size_t size, const char *name, rig_heard *heard);
int bench_close(void **state); /* a teardown of cmocka */

#endif
