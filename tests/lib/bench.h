/*
 * bench - a rig in its own folder, for unit tests of the messages between a host and its guest.
 */
#ifndef TESTS_LIB_BENCH_H
#define TESTS_LIB_BENCH_H

#include "tests/lib/rig.h"

/* A test's own struct begins with a struct bench. cmocka's state points to the test's struct. */
struct bench {
	char base[64];
	struct rig rig;
};

/* Makes the test's struct, of `size` zeroed bytes. The function `heard` answers for the guest. */
void bench_open(void **state, size_t size, const char *name, rig_heard *heard);
int bench_close(void **state); /* a teardown function for cmocka */

#endif
