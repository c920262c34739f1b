/*
 * cases - tests of a guest's files, of its daemon, and of too many callers.
 */
#ifndef TESTS_GUEST_CASES_H
#define TESTS_GUEST_CASES_H

#include <signal.h>

#include "tests/guest/fixture.h"

#define EACH(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

void test_read_and_write(void **state);
void test_ranges(void **state);
void test_ranges_that_are_not(void **state);
void test_upload(void **state);
void test_edit(void **state);
void test_list(void **state);
void test_escapes(void **state);

void test_connects(void **state);
void test_unconfirmed(void **state);
void test_waiting_callers(void **state);

void test_begins_with_its_host(void **state);
void test_unknown_spool(void **state);
void test_older_host(void **state);
void test_older_spool(void **state);
void test_other_spool(void **state);

void test_assignment(void **state);
void test_bad_assignments(void **state);
void test_pushed_again(void **state);
void test_called_off(void **state);
void test_four_at_once(void **state);
void test_killed_while_running(void **state);
void test_killed_with_results(void **state);
void test_killed_at_any_instant(void **state);
void test_ended_while_running(void **state);
void test_leaves_nothing(void **state);
void test_old_poll(void **state);
void test_large_results(void **state);
void test_full(void **state);
void test_full_of_messages(void **state);
void test_second_guest(void **state);

#endif
