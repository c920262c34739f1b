/*
 * place - a folder with a state, whose files a test takes away or changes.
 *
 * Each test has its own, gone afterwards; a failure fails the test.
 */
#ifndef TESTS_UNIT_TEST_GROUND_PLACE_H
#define TESTS_UNIT_TEST_GROUND_PLACE_H

#include "storage/store_inside.h"

struct place {
	char dir[96], path[128], wal[128], kept[128];
	struct fault fault;
};

/* Setup and teardown of a test; its state is the struct place. */
int ground_place_make(void **state);
int ground_place_clear(void **state);

struct store *open_it(struct place *p); /* made if need be */
int add(struct store *s, struct fault *f); /* an event, in a transaction of its own */
void add_many(struct store *s, struct fault *f, int n);
int64_t count(struct store *s); /* of events */
/* A process that ends without closing leaves its WAL. */
void crash(struct place *p, int n);
/* As `cp` does it: into the file that is there. */
void copy_over(const char *from, const char *to);
void assert_same(const char *a, const char *b); /* the contents of two files */

/* open.c: files that are removed or changed under an open store. */
int run_open_tests(void);
/* planted.c: foreign files beside a state. */
int run_planted_tests(void);

#endif
