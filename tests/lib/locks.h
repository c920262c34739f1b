/*
 * locks - the kernel's list of the locks on a file.
 */
#ifndef TESTS_LIB_LOCKS_H
#define TESTS_LIB_LOCKS_H

#include <stdbool.h>

/* Whether somebody waits for a lock on the file behind `fd`. */
bool locks_waited_for(int fd);

#endif
