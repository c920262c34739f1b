/*
 * place - a folder with a state, whose files a test removes or changes.
 *
 * Each test has its own place. The test's teardown removes the place. If a function of this
 * file fails, the test fails.
 */
#ifndef TESTS_UNIT_TEST_GROUND_PLACE_H
#define TESTS_UNIT_TEST_GROUND_PLACE_H

#include "storage/store_inside.h"

struct place {
	char dir[96], path[128], wal[128], kept[128];
	struct fault fault;
};

/* Setup and teardown of a test. The test's `state` is a struct place. */
int ground_place_make(void **state);
int ground_place_clear(void **state);

struct store *open_it(struct place *p); /* makes the state if there is none */
int add(struct store *s, struct fault *f); /* adds an event in its own transaction */
void add_many(struct store *s, struct fault *f, int n);
int64_t count(struct store *s); /* number of events */
/* Runs a process that adds `n` events, and ends without closing the store. So the store's WAL
 * is left. */
void crash(struct place *p, int n);
/* Copies into the existing file `to`, as `cp` does. */
void copy_over(const char *from, const char *to);
void assert_same(const char *a, const char *b); /* compares two files' contents */

/* open.c: tests of files that are removed or changed while a store has them open. */
int run_open_tests(void);
/* planted.c: tests of foreign files beside a state. */
int run_planted_tests(void);

#endif
