/*
 * place - a temporary folder of a test's own, and time.
 */
#ifndef TESTS_LIB_PLACE_H
#define TESTS_LIB_PLACE_H

#include <stdint.h>

/* Makes a folder below $TMPDIR, or /tmp when sockets in it would have too long
 * a path; -1 with a line on stderr when it cannot be made. */
int temp_make(char dir[64], const char *name);
/* Removes it with all that is in it, on this file system only. */
void temp_remove(const char *dir);

/* How long a test waits here for what takes at most `ms` on a fast machine:
 * $TEST_SCALE times as long; before that at most $PATIENCE tenths of a second.  Whatever is given to a function of tests/lib as a time
 * to wait is scaled there. */
int patience_ms(int ms);
/* A check does each N-th of many things that are alike, and $TURN says with which it begins: a
 * number below N.  At full size ($FULL) it does all: *n becomes 1. */
long first_of(long *n);

void pause_for(int ms);

#endif
