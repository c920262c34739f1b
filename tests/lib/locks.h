/*
 * locks - the kernel's list of the locks on a file.
 */
#ifndef TESTS_LIB_LOCKS_H
#define TESTS_LIB_LOCKS_H

#include <stdbool.h>

/* Whether a process waits for a lock on the file of `fd`. */
bool locks_waited_for(int fd);

#endif
