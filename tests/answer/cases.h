/*
 * cases - tests in which guests and clients do more than give one wrong answer.
 */
#ifndef TESTS_ANSWER_CASES_H
#define TESTS_ANSWER_CASES_H

void test_endless(void **state);
void test_lies(void **state);
void test_gone(void **state);
void test_wide(void **state);

void test_endless_result(void **state);
void test_bad_result(void **state);
void test_futile(void **state);

void test_refused(void **state);
void test_unread(void **state);

void test_chatter(void **state);

void test_long_line(void **state);
void test_end_in_line(void **state);
void test_short_line(void **state);

void test_unread_long(void **state);
void test_unread_all(void **state);

#endif
