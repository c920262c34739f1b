/*
 * clock - milliseconds of the machine's three clocks.
 *
 * The nouns of core see none of them: time comes to them in struct call.
 */
#ifndef CORE_BASE_CLOCK_H
#define CORE_BASE_CLOCK_H

#include <stdint.h>

/* The time since 1970.  It leaps when somebody sets the clock. */
int64_t clock_wall_ms(void);

/* A clock that nobody sets and that stands still while the machine sleeps: it measures
 * how long something takes. */
int64_t clock_steady_ms(void);

/* A clock that nobody sets and that runs on while the machine sleeps: it measures how
 * much time has passed. */
int64_t clock_boot_ms(void);

#endif
