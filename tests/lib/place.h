/*
 * place - a test's own temporary folder, and the times that a test waits.
 */
#ifndef TESTS_LIB_PLACE_H
#define TESTS_LIB_PLACE_H

#include <stdint.h>

/* Makes a folder below $TMPDIR. If $TMPDIR is too long for the paths of sockets, makes the
 * folder below /tmp. If the folder cannot be made, prints a line on stderr and returns -1. */
int temp_make(char dir[64], const char *name);
/* Removes the folder with its content, but enters no other file system. */
void temp_remove(const char *dir);

/* Converts a time limit for a fast machine into a time limit for this machine, both in ms. The
 * result is `ms`, or $PATIENCE tenths of a second if that is less, multiplied by $TEST_SCALE.
 * Functions of tests/lib apply patience_ms() to each waiting time in their arguments. */
int patience_ms(int ms);
/* A check handles only every *n-th of many similar cases. Returns the number of the first case,
 * which is $TURN modulo *n. At full size ($FULL) a check handles all cases, so *n becomes 1. */
long first_of(long *n);

void pause_for(int ms);

#endif
