/*
 * usage - memory and descriptors that a process uses.
 */
#ifndef TESTS_LIB_USAGE_H
#define TESTS_LIB_USAGE_H

#include <sys/types.h>

long memory_of(pid_t pid); /* anonymous memory in KiB; -1: not known */
long descriptors_of(pid_t pid);

#endif
