/*
 * place - a test's own temporary folder, and its times to wait.
 */
#ifndef TESTS_LIB_PLACE_H
#define TESTS_LIB_PLACE_H

#include <stdint.h>

/* Makes a folder below $TMPDIR, or below /tmp if the path of a socket in it would be too long.
 * Returns -1 with a line on stderr if the folder cannot be made. */
int temp_make(char dir[64], const char *name);
/* Removes the folder with its content, on this file system only. */
void temp_remove(const char *dir);

/* The time that a test waits here for an act that takes at most `ms` on a fast machine. The
 * result is at most $PATIENCE tenths of a second, times $TEST_SCALE. Functions of tests/lib
 * apply patience_ms() to each waiting time that they are given. */
int patience_ms(int ms);
/* A check handles each N-th of many similar cases and begins with case $TURN, a number below N.
 * At full size ($FULL) it handles all cases: *n becomes 1. */
long first_of(long *n);

void pause_for(int ms);

#endif
