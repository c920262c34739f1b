/*
 * place - a temporary folder of a test's own, and time.
 */
#ifndef TESTS_LIB_PLACE_H
#define TESTS_LIB_PLACE_H

#include <stdint.h>

/* Makes a folder below $TMPDIR, or /tmp when sockets in it would have too long
 * a path; -1 with a line on stderr when it cannot be made. */
int temp_make(char dir[64], const char *name);
/* Removes the folder with its content, on this file system only. */
void temp_remove(const char *dir);

/* How long a test waits here for an act of at most `ms` on a fast machine: $TEST_SCALE times
 * as long; before that at most $PATIENCE tenths of a second.  Functions of tests/lib scale each
 * time to wait that they are given. */
int patience_ms(int ms);
/* A check does each N-th of many things that are alike, and $TURN says with which it begins: a
 * number below N.  At full size ($FULL) it does all: *n becomes 1. */
long first_of(long *n);

void pause_for(int ms);

#endif
