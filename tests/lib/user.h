/*
 * user - a user who has no files yet: an empty home, and an environment that names no state.
 */
#ifndef TESTS_LIB_USER_H
#define TESTS_LIB_USER_H

extern char root[64]; /* the home, and the working directory at first */

/* Runs a command in the home. The test fails if the command fails. */
void shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The setup and teardown functions to pass to cmocka_unit_test_setup_teardown(). */
int set_up(void **state);
int tear_down(void **state);

#define USERS ".config/cadre/cadre.toml" /* the user's configuration, below the home */

#endif
