/* The guarantees of the store when a step, a COMMIT or the disk fails. */
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/fault_vfs.h"
#include "tests/lib/hooks.h"
#include "tests/lib/place.h"
#include "tests/unit/test_store/place.h"

static void test_failed_commit(void **state)
{
	struct place *p = *state;
	struct store *s = place_open(p), *other = place_open(p);

	assert_int_equal(store_begin(s, true, &p->fault), 0);
	assert_int_equal(add_event(s, 1, 1, &p->fault), 0);
	store_fail(s, 1, SQLITE_IOERR_FSYNC);
	assert_int_equal(store_commit(s, &p->fault), FAULT_UNAVAILABLE);
	assert_non_null(strstr(p->fault.text, "outcome is not known"));
	p->fault = (struct fault){ 0 };
	/* The failed commit has ended the writer's turn, so another store can write. */
	assert_int_equal(commit_event(other, 2, 1, &p->fault), 0);
	assert_int_equal(commit_event(s, 1, 2, &p->fault), 0);
	store_close(other);
	store_close(s);
	assert_int_equal(place_number(p, "SELECT count(*) FROM event"), 2);
}

static void test_dropped_transaction(void **state)
{
	struct place *p = *state;
	struct store *s = place_open(p);

	assert_int_equal(store_begin(s, true, &p->fault), 0);
	assert_int_equal(store_savepoint(s, &p->fault), 0);
	assert_int_equal(add_event(s, 1, 1, &p->fault), 0);
	store_fail(s, 1, SQLITE_FULL);
	assert_int_equal(add_event(s, 1, 2, &p->fault), FAULT_UNAVAILABLE);
	assert_non_null(strstr(p->fault.text, "disk is full"));
	assert_false(store_intact(s));
	/* After the transaction was dropped, no later statement of the same transaction runs. */
	p->fault = (struct fault){ 0 };
	assert_int_equal(add_event(s, 1, 3, &p->fault), FAULT_UNAVAILABLE);
	p->fault = (struct fault){ 0 };
	assert_int_equal(store_savepoint(s, &p->fault), FAULT_UNAVAILABLE);
	p->fault = (struct fault){ 0 };
	store_rollback(s);
	assert_int_equal(commit_event(s, 1, 4, &p->fault), 0);
	store_close(s);
	assert_int_equal(place_number(p, "SELECT sum(subject) FROM event"), 4);
}

static void test_full_disk(void **state)
{
	struct place *p = *state;
	struct fault_control control = { 0 };
	struct store *s;

	assert_int_equal(fault_vfs_register(&control), 0);
	s = place_open_with(p, STORE_CREATE, "faulty");
	assert_int_equal(commit_event(s, 1, 1, &p->fault), 0);
	control.kinds = FAULT_DISK_WRITE;
	control.result = SQLITE_FULL;
	control.lasting = 1;
	control.after = 1;
	for (int i = 0; i < 5; i++) {
		p->fault = (struct fault){ 0 };
		assert_int_equal(commit_event(s, 2, i, &p->fault), FAULT_UNAVAILABLE);
		assert_non_null(
			strstr(p->fault.text, "nothing was changed: the disk is full"));
		assert_int_equal(events(s), 1); /* reads still work */
	}
	control.after = 0; /* the disk has room again */
	p->fault = (struct fault){ 0 };
	assert_int_equal(commit_event(s, 1, 2, &p->fault), 0);
	store_close(s);
	fault_vfs_unregister();
	assert_int_equal(place_number(p, "SELECT count(*) FROM event WHERE actor = 1"),
			 2);
	place_assert_sound(p);
}

/* A commit of many pages is one write to the WAL, and a very large commit is a few writes. If a
 * transaction is rolled back, its gathered pages do no harm. */
static void test_writes_are_gathered(void **state)
{
	struct place *p = *state;
	struct fault_control control = { .kinds = FAULT_DISK_WRITE };
	struct store *s;
	long before;

	assert_int_equal(fault_vfs_register(&control), 0);
	s = place_open_with(p, STORE_CREATE | STORE_NO_CHECKPOINT, "faulty");
	for (int n = 0; n < 3; n++) {
		assert_int_equal(store_begin(s, true, &p->fault), 0);
		for (int i = 0; i < 1000 + n * 20000; i++)
			assert_int_equal(add_event(s, 1, i, &p->fault), 0);
		before = control.seen;
		if (n == 1)
			store_rollback(s);
		else
			assert_int_equal(store_commit(s, &p->fault), 0);
		assert_true(control.seen - before <= (n == 2 ? 12 : 2));
		assert_int_equal(commit_event(s, 2, n, &p->fault), 0);
	}
	store_close(s);
	fault_vfs_unregister();
	assert_int_equal(place_number(p, "SELECT count(*) FROM event WHERE actor = 1"),
			 1000 + 41000);
	assert_int_equal(place_number(p, "SELECT count(*) FROM event WHERE actor = 2"),
			 3);
	place_assert_sound(p);
}

/* Runs ten transactions while the n-th disk operation fails. A reader without faults must find
 * all acknowledged rows. Later calls show that the store recovers by itself. */
static bool survive(struct place *p, struct fault_control *c, long n, int *made)
{
	struct fault f = { 0 };
	struct store *s = NULL;
	bool acked[10] = { false };

	atomic_store(&c->failed, 0);
	atomic_store(&c->after, n);
	if (store_open(&s, p->dir, STORE_CREATE, "faulty", &f) == 0)
		for (int i = 0; i < 10; i++) {
			f = (struct fault){ 0 };
			acked[i] = commit_event(s, n, i, &f) == 0;
			*made += acked[i];
			assert_true(acked[i] || f.code == FAULT_UNAVAILABLE ||
				    f.code == FAULT_IO);
		}
	store_close(s);
	atomic_store(&c->after, 0);
	for (int i = 0; i < 10; i++) {
		char sql[120];

		if (!acked[i])
			continue;
		snprintf(sql, sizeof(sql),
			 "SELECT count(*) FROM event"
			 " WHERE actor = %ld AND subject = %d",
			 n, i);
		assert_int_equal(place_number(p, sql), 1);
	}
	return atomic_load(&c->failed) > 0;
}

static void sweep(struct place *p, int kinds, int result)
{
	struct fault_control control = { .kinds = kinds, .result = result };
	long each = 3, n = 1 + first_of(&each);
	int made = 0;

	assert_int_equal(fault_vfs_register(&control), 0);
	place_assert_sound(p); /* also makes the state */
	while (survive(p, &control, n, &made))
		n += each;
	fault_vfs_unregister();
	assert_true(n > 5 && made > 0);
	place_assert_sound(p);
}

static void test_every_failing_write(void **state)
{
	sweep(*state, FAULT_DISK_WRITE, SQLITE_IOERR_WRITE);
}

static void test_every_full_write(void **state)
{
	sweep(*state, FAULT_DISK_WRITE, SQLITE_FULL);
}

static void test_every_failing_sync(void **state)
{
	sweep(*state, FAULT_DISK_SYNC, SQLITE_IOERR_FSYNC);
}

static void test_every_failing_read(void **state)
{
	sweep(*state, FAULT_DISK_READ | FAULT_DISK_TRUNCATE | FAULT_DISK_OPEN,
	      SQLITE_IOERR_READ);
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, place_make, place_remove)

int run_fault_tests(void)
{
	const struct CMUnitTest tests[] = {
		STORY(test_failed_commit),       STORY(test_dropped_transaction),
		STORY(test_writes_are_gathered), STORY(test_every_failing_write),
		STORY(test_full_disk),           STORY(test_every_full_write),
		STORY(test_every_failing_sync),  STORY(test_every_failing_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
