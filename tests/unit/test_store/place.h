/*
 * place - a temporary folder with a state in it, for cmocka tests.
 *
 * Each test has its own place. The test's teardown removes the place. If a function of this
 * file fails, the test fails.
 */
#ifndef TESTS_UNIT_TEST_STORE_PLACE_H
#define TESTS_UNIT_TEST_STORE_PLACE_H

#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/fault.h"
#include "storage/store.h"

struct place {
	char dir[64];
	struct fault fault;
	struct arena arena;
};

/* Setup and teardown of a test. The test's `state` is a struct place. */
int place_make(void **state);
int place_remove(void **state);

struct store *place_open_with(struct place *p, unsigned flags, const char *vfs);
struct store *place_open(struct place *p); /* makes the state if there is none */
/* Runs a query in the program sqlite3, and returns the integer that the query returns. */
int64_t place_number(const struct place *p, const char *sql);
void place_assert_sound(struct place *p);

int add_event(struct store *s, int64_t actor, int64_t subject, struct fault *f);
/* Commits an event in its own transaction. */
int commit_event(struct store *s, int64_t actor, int64_t subject, struct fault *f);
int64_t events(struct store *s); /* the newest event's number */

/* faults.c: tests in which a step, a COMMIT or the disk fails. */
int run_fault_tests(void);

#endif
